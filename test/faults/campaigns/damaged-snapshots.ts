import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { contract } from '../../../src/contract/index.js'
import { callerOf } from '../../support/server/client.js'
import type { Campaign, Run } from '../campaign.js'
import { clerks } from '../clients.js'
import { breachesIn, breachesOf } from '../invariants.js'
import type { Random } from '../random.js'
import { startWithTenant } from '../server-with-tenant.js'
import { readStored } from '../stored.js'

/** Changes the bytes of a snapshot; returns the changed bytes and what was done. */
type Harm = (bytes: Buffer, random: Random, database: Buffer) => readonly [Buffer, string]

const harms: Readonly<Record<string, Harm>> = {
  'a bit was flipped': (bytes, random) => {
    const [at, bit] = [random.below(bytes.length), random.below(8)]
    bytes.writeUInt8((bytes[at] as number) ^ (1 << bit), at)
    return [bytes, `bit ${bit} of byte ${at} flipped`]
  },
  'a file was truncated': (bytes, random) => {
    const length = random.below(bytes.length)
    return [bytes.subarray(0, length), `truncated to ${length} bytes`]
  },
  'a file was foreign': (_bytes, _random, database) => [database, 'replaced by a copy of voucherctl.db'],
  'a file was empty': () => [Buffer.alloc(0), 'emptied'],
}

export const damagedSnapshots: Campaign = {
  row: 'R21',
  name: 'damaged, truncated and foreign snapshots',
  tags: ['snapshots/4'],
  requirement: 'A snapshot is damaged. Each restore is refused.',
  states: Object.keys(harms),

  async run(run: Run) {
    const { quick, random, folder, sometimes, say } = run
    const { server, first, templateId, callLog, dataDir, start } = await startWithTenant(run)
    const operate = callerOf(server.send, server.operatorKey)
    let received = 0
    const work = (name: string, upTo: number) =>
      clerks(8, {
        tenant: first,
        callLog,
        random: random.of(name),
        name,
        templateIds: [templateId],
        shouldContinue: () => received < upTo,
        onResponse: () => void (received += 1),
      })
    await operate(contract.platform.saveSnapshot, { name: 'other' })
    await work('before', 200)
    await operate(contract.platform.saveSnapshot, { name: 'harmed' })
    await work('after', 300)
    const files = join(dataDir, 'voucherctl.db.snapshots')
    const file = join(files, `${Buffer.from('harmed').toString('hex')}.db`)
    const whole = readFileSync(file)
    const broken: string[] = readdirSync(files).length === 2 ? [] : ['there are other files besides the snapshots']
    const cases = quick ? 12 : 2_000
    let refused = 0
    for (let n = 0; n < cases; n++) {
      // Every second damage is a flipped bit, which SQLite itself seldom notices.
      const kind = (n % 2 === 0 ? 'a bit was flipped' : random.pick(Object.keys(harms))) as keyof typeof harms
      const harm = harms[kind] as Harm
      const [bytes, done] = harm(Buffer.from(whole), random, readFileSync(join(dataDir, 'voucherctl.db')))
      writeFileSync(file, bytes)
      sometimes.note(kind)
      const { status, code, details } = await operate(contract.platform.restoreSnapshot, { name: 'harmed' })
      if (code === 'SNAPSHOTS_DAMAGED' && details.file === file) refused += 1
      else broken.push(`${done}: the restore got ${status} ${code}`)
      say(`damage ${n + 1} of ${cases}`)
    }
    // The live store has every acknowledged call, and a copy of it passes SQLite's integrity_check.
    await server.kill()
    broken.push(...breachesOf(dataDir, folder, callLog))

    writeFileSync(file, whole)
    copyFileSync(file, `${file}.kept`)
    const again = await start()
    const restored = await callerOf(again.send, again.operatorKey)(contract.platform.restoreSnapshot, {
      name: 'harmed',
    })
    if (restored.status !== 200) broken.push(`the whole snapshot got ${restored.status} ${restored.text}`)
    await again.kill()
    broken.push(...breachesIn(readStored(dataDir, folder)))
    rmSync(`${file}.kept`)
    return { facts: { damages: cases, refused }, broken }
  },
}
