import type { Server } from 'node:http'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { contract } from '../../../src/contract/index.js'
import { addStandby, type PostgresPair, startPrimary } from '../../support/postgres/pair.js'
import { query } from '../../support/postgres/query.js'
import type { PostgresServer } from '../../support/postgres/server.js'
import { tcpGate } from '../../support/server/tcp-gate.js'
import { newTenant } from '../../support/server/tenant.js'
import { CallLog } from '../call-log.js'
import { type Campaign, type Run, spread } from '../campaign.js'
import { send } from '../clients.js'
import { type Database, migrateDuring, type Scene, startDuring, startLoad } from '../failover-work.js'
import { Fleet } from '../fleet.js'
import { FleetBots, newReceiver } from '../fleet-bots.js'
import { breachesIn, differences } from '../invariants.js'
import { startServer } from '../server.js'
import { readStoredIn } from '../stored.js'

/** Maximum ms from the promotion until both servers serve again. */
const RECOVERY_MS_MAX = 10_000
/** A server counts as recovered after this many successful calls. */
const SERVES = 10
/** Maximum length of the message that commits: Bind, Execute and Sync of a prepared statement without parameters. */
const COMMIT_BYTES_MAX = 60
const CUT_SHARE = 0.1
const QUOTA = 20

/**
 * The faults. `killed`: the primary gets SIGKILL. `kept`: it lives on, and connections to it stay open.
 * `lagging`: the standby lacks acknowledged commits, because replication is asynchronous.
 */
type Harm = 'killed' | 'kept' | 'lagging'
const shortForm: readonly Harm[] = ['killed', 'kept']
const longForm: readonly Harm[] = [
  ...Array.from({ length: 20 }, (_, round) => (round % 4 === 3 ? 'kept' : 'killed') as Harm),
  'lagging',
]

export const failover: Campaign = {
  row: 'R19',
  name: 'PostgreSQL primary killed, synchronous standby promoted, under load of 2 servers',
  tags: ['failure-codes/3', 'idempotency-keys/1', 'idempotency-keys/5', 'issue/1'],
  requirement:
    'A standby is promoted while the primary is killed or stays. Both servers serve within 10 s, and lose no call.',
  states: [
    'the first server refused a call with 503',
    'the second server refused a call with 503',
    'a call took effect without a response',
    'a retry was a replay',
    'a commit was cut off',
    'the result of a message is unknown',
    'a poll ended without updates and was repeated',
    'a message after a failover ended a poll',
    'an encrypted session was opened',
    'a server started during a failover',
    'a migration ran during a failover',
    'the quota of a template was exhausted',
    'the lagging standby lacked acknowledged calls',
  ],

  async run(run: Run) {
    let primary: PostgresServer
    try {
      primary = await startPrimary()
    } catch (error) {
      return { skipped: `PostgreSQL does not start here: ${error}` }
    }
    const { receiver, port } = await newReceiver()
    const gate = await tcpGate(primary.port)
    const state: Database = { primary, gate }
    try {
      return await campaign(run, state, receiver, port)
    } finally {
      receiver.close()
      receiver.closeAllConnections()
      await gate.remove()
      await state.pair?.replication.remove()
      for (const it of new Set([state.primary, state.pair?.primary, state.pair?.standby])) await it?.remove()
    }
  },
}

async function campaign(run: Run, database: Database, receiver: Server, port: number) {
  const { quick, patience, folder, root, sometimes, say } = run
  const { primary, gate } = database
  const env = { VOUCHERCTL_DATABASE_URL: primary.url.replace(`:${primary.port}/`, `:${gate.port}/`) }
  const flags = ['--rate-limit', 'off', '--dev-webhook-loopback', String(port)]
  const start = () => startServer(root, join(folder, 'data'), flags, env)
  const fleet = new Fleet([await start(), await start()], sometimes, patience)
  const first = await newTenant(fleet.servers[0])
  const bots = await FleetBots.open(fleet, first, receiver, port)
  const { id: templateId } = await first.template({ issue_limit: 1_000_000 })
  const { id: verifiedId } = await first.template()
  const callLog = new CallLog(join(folder, 'acknowledged.ndjson'), sometimes)
  const scene: Scene = {
    ...{ run, database, fleet, first, bots, start, templateId, verifiedId, env, callLog },
    recoveries: [],
    load: { calls: 0, seconds: 0 },
    broken: fleet.wrong,
  }
  const harms = quick ? shortForm : longForm
  let acknowledged = 0
  let lost = 0
  try {
    for (const [number, harm] of harms.entries()) {
      if (scene.broken.length > 0) break
      if (harm === 'lagging') lost += await lag(scene, number)
      else await failOver(scene, number, harm)
      acknowledged = callLog.acknowledged().length
      say(`${harm}, ${number + 1} of ${harms.length}: ${acknowledged} acknowledged`)
    }
  } finally {
    fleet.isOver = true
  }
  for (const server of fleet.servers) await server.stop()
  return {
    facts: {
      failovers: scene.recoveries.length,
      acknowledged,
      'done without response': callLog.doneWithoutResponse,
      ...bots.counts,
      'calls per s': Math.round(scene.load.calls / scene.load.seconds),
      'responses of 503': fleet.refusedMs.length,
      'slowest response, ms': Math.round(fleet.slowestMs),
      'recovery after promotion': spread(scene.recoveries),
      'first wake-up': spread(bots.wokenMs),
      'lost by an asynchronous standby': lost,
    },
    broken: scene.broken,
  }
}

/** One failover under load, and the comparison of stored with acknowledged calls. */
async function failOver(scene: Scene, number: number, harm: Harm): Promise<void> {
  const { run, database, fleet, broken, bots, callLog } = scene
  const { random, quick, sometimes } = run
  const { gate } = database
  const pair = await replicate(scene, true)
  await query(database.primary.url, `create schema migrated_${number}`)
  const narrow = await fleet.at(0, scene.first).template({ issue_limit: QUOTA })
  const load = startLoad(scene, `f${number}`, [scene.templateId, narrow.id])
  const [calls, startedAt] = [fleet.calls, performance.now()]
  await wait(random.between(1_000, quick ? 1_500 : 4_000))
  scene.load.calls += fleet.calls - calls
  scene.load.seconds += (performance.now() - startedAt) / 1_000
  gate.cutWhen = (sent) => {
    const isCut = sent[0] === 'B'.charCodeAt(0) && sent.length < COMMIT_BYTES_MAX && random.chance(CUT_SHARE)
    if (isCut) sometimes.note('a commit was cut off')
    return isCut
  }
  await wait(500)
  gate.cutWhen = null
  const beside = Promise.all([startDuring(scene), migrateDuring(scene, number)])
  beside.catch(() => {})
  await wait(random.below(1_500))
  if (harm === 'killed') {
    await pair.killPrimary()
    await wait(random.between(500, 2_500))
  }
  await promote(scene, harm)
  await beside
  await load.end()
  await pair.primary.remove()
  // Late repeats at either server must get the responses of before.
  const acknowledged = callLog.acknowledged().filter(({ key }) => key.includes(`-f${number}-`))
  const repeated = Array.from({ length: 200 }, () => random.pick(acknowledged))
  await Promise.all(repeated.map((entry, index) => send(fleet.at((index % 2) as 0 | 1, scene.first), callLog, entry)))
  broken.push(...callLog.unresolved().map(({ key }) => `${key} never got a response`))
  const stored = await readStoredIn(database.primary.url)
  const found = [...breachesIn(stored), ...differences(callLog, stored), ...(await bots.check(database.primary.url))]
  broken.push(...found.map((it) => `${harm}, round ${number}: ${it}`))
}

/** Adds a standby to the primary, and waits until the servers have connected again. */
async function replicate({ database, fleet, first }: Scene, isSynchronous: boolean): Promise<PostgresPair> {
  database.pair = await addStandby(database.primary, isSynchronous)
  for (const place of [0, 1] as const) await fleet.at(place, first).runtime(contract.templates.list, {})
  return database.pair
}

/** Promotes the standby, leads new connections to it, and waits until both servers serve again. */
async function promote({ run, database, fleet, bots, recoveries, broken }: Scene, harm: Harm): Promise<void> {
  const { gate } = database
  const { primary, standby, ...pair } = database.pair as PostgresPair
  await pair.promote()
  const promotedAt = performance.now()
  gate.target = standby.port
  database.primary = standby
  // Some connections stay with the old primary.
  if (harm === 'kept') gate.drop(() => run.random.chance(0.3))
  // Begins while the servers have not connected their listeners again.
  const waking = Promise.all([bots.wakeUp(0), bots.wakeUp(1)])
  const [one, two] = fleet.served
  const serves = () =>
    fleet.served[0] >= one + SERVES && fleet.served[1] >= two + SERVES && gate.connectionsTo(primary.port) === 0
  const msMax = RECOVERY_MS_MAX * run.patience
  while (!serves() && performance.now() < promotedAt + msMax) await wait(5)
  if (!serves()) {
    const stale = gate.connectionsTo(primary.port)
    broken.push(`${harm}: ${msMax} ms after the promotion: ${fleet.served} calls served, ${stale} stale connections`)
  }
  recoveries.push(performance.now() - promotedAt)
  await waking
}

/** Kills a primary whose standby lags. @returns the number of acknowledged calls that are lost, which nobody promises */
async function lag(scene: Scene, number: number): Promise<number> {
  const { run, database, fleet, first, broken } = scene
  const { primary, replication, ...pair } = await replicate(scene, false)
  const callLog = new CallLog(join(run.folder, 'lagging.ndjson'), run.sometimes)
  const load = startLoad({ ...scene, callLog }, `l${number}`, [scene.templateId])
  await wait(1_000)
  replication.freeze()
  await wait(2_000)
  await load.end()
  await pair.killPrimary()
  await pair.promote()
  database.gate.target = pair.standby.port
  database.primary = pair.standby
  await primary.remove()
  const lost = () => {
    const found = differences(callLog, { ...stored }).filter((it) => it.startsWith('acknowledged'))
    return new Set(found.map((it) => it.split(' ')[2]?.replace(':', '')))
  }
  let stored = await readStoredIn(pair.standby.url)
  broken.push(...breachesIn(stored).map((it) => `${it} at the standby`))
  const keys = lost()
  run.sometimes.note('the lagging standby lacked acknowledged calls', keys.size)
  // The repeats of lost calls take effect once.
  const again = new CallLog(join(run.folder, 'again.ndjson'), run.sometimes)
  const issues = callLog.acknowledged().filter(({ action, key }) => action === 'issue' && keys.has(key))
  for (const place of [0, 1] as const) {
    const tenant = fleet.at(place, first)
    await Promise.all(issues.map(({ key, input }) => send(tenant, again, again.open(key, 'issue', input))))
  }
  stored = await readStoredIn(pair.standby.url)
  broken.push(...again.wrongResponses(), ...breachesIn(stored).map((it) => `${it} after the repeats`))
  return keys.size
}
