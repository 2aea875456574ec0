import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { contract } from '../../../src/contract/index.js'
import type { IssuedVoucher } from '../../../src/contract/vouchers.js'
import { type Tenant, codeOf, newTenant } from '../../support/server-tenant.js'
import { Book } from '../book.js'
import type { Campaign, Run } from '../campaign.js'
import { clerks } from '../clients.js'
import { type Damage, damages } from '../damages.js'
import { breachesIn } from '../invariants.js'
import { Refused, type Server, startServer, tenantAt } from '../server.js'
import { readStored } from '../stored.js'

/** A refusal says one of these, and which file. */
const REFUSALS = ['STORE_UNUSABLE', 'KEYS_UNUSABLE']

interface Base {
  readonly dataDir: string
  readonly book: Book
  readonly tenant: Tenant
  /** What a sound server answers, in the order of `answers`. */
  readonly sound: readonly string[]
}

/** Every voucher, every redemption and the templates, without what differs from call to call. */
async function answers(tenant: Tenant, book: Book): Promise<{ status: number; text: string }[]> {
  const calls = book
    .acknowledged()
    .map(({ action, acknowledged: { data } }) =>
      action === 'issue'
        ? tenant.runtime(contract.vouchers.verify, { credential: codeOf(data as IssuedVoucher) })
        : tenant.runtime(contract.vouchers.redemption, { redemptionId: data.id }),
    )
  const all = await Promise.all([...calls, tenant.runtime(contract.templates.list, {})])
  return all.map(({ status, sameness }) => ({ status, text: sameness.replace(/"checkedAt":"[^"]*"/, '') }))
}

export const damagedFiles: Campaign = {
  row: 'R12',
  name: 'damaged, newer and foreign files',

  async run({ quick, random, folder, root, say }: Run) {
    const broken: string[] = []
    const wrongs: string[] = []
    const outcomes = new Map<string, number>()
    const count = (outcome: string) => outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    const bases = await makeBases(folder, root, random, quick ? 300 : 2_000)
    const cases = quick ? damages.length : 600
    for (let n = 0; n < cases; n++) {
      const damage = damages[n % damages.length] as Damage
      const { dataDir, book, tenant, sound } = random.pick(bases.filter((it) => damage.fits(it.dataDir)))
      const damaged = join(folder, 'damaged')
      cpSync(dataDir, damaged, { recursive: true })
      const done = `${damage.name}: ${damage.apply(damaged, random)}`
      let server: Server
      try {
        server = await startServer(root, damaged)
      } catch (error) {
        if (!(error instanceof Refused)) throw error
        count('refused')
        const said = REFUSALS.some((code) => error.stderr.includes(`"code":"${code}"`))
        if (!said) broken.push(`${done}: it ended with ${error.exit}, saying ${error.stderr}`)
        rmSync(damaged, { recursive: true })
        continue
      }
      // README.md, What was seen: the file itself has no checksums, its journal has.
      const given = await answers(tenantAt(server, tenant), book)
      const wrong = given.filter(({ status, text }, index) => status < 500 && text !== sound[index])
      const unserved = given.filter(({ status }) => status >= 500).length
      if (server.exit() !== null) broken.push(`${done}: the server ended by itself: ${server.stderr()}`)
      await server.stop()
      if (wrong.length === 0) count(unserved > 0 ? 'partly unserved' : 'whole')
      else if (damage.ofJournal) {
        // Its end is lost with all that came after: what is left must be sound in itself.
        count('an earlier state')
        broken.push(...breachesIn(readStored(damaged, folder)).map((it) => `${done}: ${it}`))
      } else {
        count('served wrong')
        wrongs.push(`${done}: ${wrong.length} answers`)
      }
      rmSync(damaged, { recursive: true })
      say(`damage ${n + 1} of ${cases}`)
    }
    const facts = Object.fromEntries([...outcomes].sort())
    return { facts: wrongs.length === 0 ? facts : { ...facts, 'wrong after': wrongs.join(' | ') }, broken }
  },
}

/** One data folder of a server that was stopped, one of a server that was killed. */
async function makeBases(folder: string, root: string, random: Run['random'], calls: number): Promise<Base[]> {
  const bases: Base[] = []
  for (const [index, end] of (['stop', 'kill'] as const).entries()) {
    const dataDir = join(folder, `base-${index}`)
    const book = new Book(join(folder, `acknowledged-${index}.ndjson`))
    let server = await startServer(root, dataDir)
    const tenant = await newTenant(server)
    const { id } = await tenant.template({ issue_limit: 1_000_000 })
    let answered = 0
    const work = { tenant, book, name: `b${index}`, random: random.of(end), templateIds: [id] }
    await clerks(8, { ...work, goesOn: () => answered < calls, onAnswer: () => void (answered += 1) })
    await server[end]()
    cpSync(dataDir, `${dataDir}-kept`, { recursive: true })
    server = await startServer(root, `${dataDir}-kept`)
    const sound = (await answers(tenantAt(server, tenant), book)).map(({ text }) => text)
    await server.kill()
    bases.push({ dataDir, book, tenant, sound })
  }
  return bases
}
