import { cpSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { contract } from '../../../src/contract/index.js'
import type { IssuedVoucher } from '../../../src/contract/vouchers.js'
import { codeOf, newTenant, type Tenant } from '../../support/server/tenant.js'
import { CallLog } from '../call-log.js'
import type { Campaign, Run } from '../campaign.js'
import { clerks } from '../clients.js'
import { type Damage, damages } from '../damages.js'
import { breachesIn } from '../invariants.js'
import { Refused, type Server, startServer, tenantAt } from '../server.js'
import { readStored } from '../stored.js'

/** Failure codes with which a server may refuse to start on damaged files. */
const REFUSALS = ['STORE_UNUSABLE', 'KEYS_UNUSABLE']

interface Base {
  /** How the server of the data folder was ended. */
  readonly end: 'stop' | 'kill'
  readonly dataDir: string
  readonly callLog: CallLog
  readonly tenant: Tenant
  /** The responses of a server on the undamaged folder, in the order of `responses`. */
  readonly sound: readonly string[]
}

/** Reads every voucher, every redemption and the templates; returns the responses without the members that vary. */
async function responses(tenant: Tenant, callLog: CallLog): Promise<{ status: number; text: string }[]> {
  const calls = callLog
    .acknowledged()
    .map(({ action, acknowledged: { data } }) =>
      action === 'issue'
        ? tenant.runtime(contract.vouchers.verify, { credential: codeOf(data as IssuedVoucher) })
        : tenant.runtime(contract.vouchers.redemption, { redemptionId: data.id }),
    )
  const all = await Promise.all([...calls, tenant.runtime(contract.templates.list, {})])
  return all.map(({ status, sameness }) => ({ status, text: sameness.replace(/"checkedAt":"[^"]*"/, '') }))
}

/** How a server that started violates the guarantee for this damage; null if it does not. */
function breachOf({ promised }: Damage, wrong: number, unserved: number): string | null {
  if (promised === 'refused') return 'it was started'
  if (promised === 'a running server' || wrong + unserved === 0) return null
  if (promised === 'an earlier state') return unserved === 0 ? null : `${unserved} responses are unserved`
  return `${wrong} responses are wrong, ${unserved} unserved`
}

export const damagedFiles: Campaign = {
  row: 'R12',
  name: 'damaged, newer and foreign files',
  tags: ['check-of-the-database/1'],
  requirement: 'A file of the data folder is damaged. The next start is refused or correct.',
  states: [
    ...REFUSALS.map((code) => `a start was refused with ${code}`),
    'a start was refused on files of a stopped server',
    'a start was refused on files of a killed server',
    'a server started on an earlier state',
  ],

  async run({ quick, random, folder, root, sometimes, say }: Run) {
    const broken: string[] = []
    const outcomes = new Map<string, number>()
    const count = (outcome: string) => outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    const bases = await makeBases(folder, root, random, quick ? 300 : 2_000)
    const cases = quick ? damages.length : 600
    for (let n = 0; n < cases; n++) {
      const damage = damages[n % damages.length] as Damage
      const base = random.pick(bases.filter((it) => damage.fits(it.dataDir)))
      const { dataDir, end, callLog, tenant, sound } = base
      const damaged = join(folder, 'damaged')
      cpSync(dataDir, damaged, { recursive: true })
      const done = `${damage.name} after a ${end}: ${damage.apply(damaged, random)}`
      const changed = readFileSync(join(damaged, damage.file))
      let server: Server
      try {
        server = await startServer(root, damaged)
      } catch (error) {
        if (!(error instanceof Refused)) throw error
        count('refused')
        const said = REFUSALS.find((code) => error.stderr.includes(`"code":"${code}"`))
        if (said !== undefined) sometimes.note(`a start was refused with ${said}`)
        sometimes.note(`a start was refused on files of a ${end === 'kill' ? 'killed' : 'stopped'} server`)
        if (said === undefined) broken.push(`${done}: it ended with ${error.exit}, saying ${error.stderr}`)
        // On close, SQLite checkpoints an existing WAL even into a database file that it found damaged.
        const isLeft = end === 'kill' || readFileSync(join(damaged, damage.file)).equals(changed)
        if (!isLeft) broken.push(`${done}: it was refused and changed`)
        rmSync(damaged, { recursive: true })
        continue
      }
      const given = await responses(tenantAt(server, tenant), callLog)
      const wrong = given.filter(({ status, text }, index) => status < 500 && text !== sound[index]).length
      const unserved = given.filter(({ status }) => status >= 500).length
      if (server.exit() !== null) broken.push(`${done}: the server ended by itself: ${server.stderr()}`)
      await server.stop()
      const breach = breachOf(damage, wrong, unserved)
      if (breach !== null) broken.push(`${done}: ${breach}`)
      if (wrong + unserved === 0) sometimes.note('a server returned correct data from damaged files')
      if (wrong === 0) count(unserved > 0 ? 'partly unserved' : 'whole')
      else if (damage.promised === 'an earlier state') {
        count('an earlier state')
        sometimes.note('a server started on an earlier state')
        // A damaged WAL loses its later transactions, but the remaining data must be consistent.
        broken.push(...breachesIn(readStored(damaged, folder)).map((it) => `${done}: ${it}`))
      } else {
        count('values changed')
        sometimes.note('a server returned a value that was changed in its file')
      }
      rmSync(damaged, { recursive: true })
      say(`damage ${n + 1} of ${cases}`)
    }
    return { facts: Object.fromEntries([...outcomes].sort()), broken }
  },
}

/** Makes two data folders: one of a stopped and one of a killed server. */
async function makeBases(folder: string, root: string, random: Run['random'], calls: number): Promise<Base[]> {
  const bases: Base[] = []
  for (const [index, end] of (['stop', 'kill'] as const).entries()) {
    const dataDir = join(folder, `base-${index}`)
    const callLog = new CallLog(join(folder, `acknowledged-${index}.ndjson`))
    let server = await startServer(root, dataDir)
    const tenant = await newTenant(server)
    const { id } = await tenant.template({ issue_limit: 1_000_000 })
    let received = 0
    const work = { callLog, random: random.of(end), templateIds: [id] }
    const worked = (name: string, upTo: number) =>
      clerks(8, {
        ...work,
        tenant: tenantAt(server, tenant),
        name,
        shouldContinue: () => received < upTo,
        onResponse: () => void (received += 1),
      })
    // The restart after the first half checkpoints it, so the database file and the WAL both have data.
    await worked(`b${index}-0`, calls / 2)
    await server.stop()
    server = await startServer(root, dataDir)
    await worked(`b${index}-1`, calls)
    await server[end]()
    cpSync(dataDir, `${dataDir}-kept`, { recursive: true })
    server = await startServer(root, `${dataDir}-kept`)
    const sound = (await responses(tenantAt(server, tenant), callLog)).map(({ text }) => text)
    await server.kill()
    bases.push({ end, dataDir, callLog, tenant, sound })
  }
  return bases
}
