import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { type PgBouncer, startPgBouncer } from '../../support/postgres/pgbouncer.js'
import { type PostgresServer, startPostgres } from '../../support/postgres/server.js'
import { postgresError } from '../../support/postgres/wire.js'
import type { ApiResponse, Send } from '../../support/server/client.js'
import { type Gate, tcpGate } from '../../support/server/tcp-gate.js'
import { newTenant, type Tenant } from '../../support/server/tenant.js'
import { findProgram, noProgram } from '../../support/system-programs.js'
import { CallLog } from '../call-log.js'
import { type Campaign, type Result, type Run, spread } from '../campaign.js'
import { clerks, send } from '../clients.js'
import { breachesIn, differences } from '../invariants.js'
import type { Random } from '../random.js'
import { type Server, startServer, tenantAt } from '../server.js'
import type { Sometimes } from '../sometimes.js'
import { readStoredIn } from '../stored.js'

const CLIENTS_EACH = 8
const AWAY_MS = 10_000
/** Maximum wait for the first 503: on a busy machine, clients notice late that the database is away. */
const REFUSED_MS_MAX = 30_000
const RECOVERY_MS_MAX = 5_000
/** A server counts as recovered after this many successful calls. */
const SERVES = 10
const AGAIN_MS = 20

/** Probability that the connection is cut at a message of the database. */
const BROKEN_OFF_SHARE = 0.03

/** The faults: failures of the database, of its network, or of one of the two servers. */
const harms = ['restarted', 'killed', 'refusing', 'silent', 'breaking off', 'server killed'] as const
type Harm = (typeof harms)[number] | 'pooler killed'
/** Faults during which clients must receive 503. */
const outages: readonly Harm[] = ['restarted', 'killed', 'refusing', 'silent', 'pooler killed']

/** The faults of a campaign, in turn. */
interface Plan {
  readonly short: readonly Harm[]
  readonly long: readonly Harm[]
  readonly longRounds: number
  /** True for servers that reach the database through pgbouncer in session mode. */
  readonly pools: boolean
}

/** Two servers on one database, and what their clients have received. */
interface Fleet {
  readonly servers: [Server, Server]
  /** Number of successful calls of each server. */
  readonly served: [number, number]
  /** Durations of the 503 responses in milliseconds. */
  readonly refusedMs: number[]
  readonly wrong: string[]
  readonly sometimes: Sometimes
  /** Ends the retries of all clients. */
  isOver: boolean
}

/** Sends a call to a server and repeats it with its idempotency key until it succeeds, even across restarts. */
function patient(fleet: Fleet, place: 0 | 1): Send {
  return async (request) => {
    for (;;) {
      const askedAt = performance.now()
      const response = await fleet.servers[place].send(request).catch(() => null)
      // The server still processes the first attempt, which waits for a database that does not respond.
      const isInFlight = response?.code === 'IDEMPOTENCY_KEY_IN_PROGRESS'
      if (isInFlight) fleet.sometimes.note('an idempotency key was in progress')
      if (response === null) fleet.sometimes.note('a connection ended without a response')
      if (response !== null && response.status !== 503 && !isInFlight) {
        fleet.served[place] += 1
        return response
      }
      if (response !== null && !isInFlight) {
        fleet.refusedMs.push(performance.now() - askedAt)
        fleet.sometimes.note(`the ${place === 0 ? 'first' : 'second'} server refused a call with 503`)
        if (response.code !== 'SERVICE_UNAVAILABLE' || response.headers['retry-after'] === undefined) {
          fleet.wrong.push(`while the database was away: ${response.status} ${response.text}`)
        }
      }
      if (fleet.isOver) throw new Error('the campaign is over')
      await wait(AGAIN_MS)
    }
  }
}

async function until(holds: () => boolean, msMax: number): Promise<boolean> {
  const deadline = performance.now() + msMax
  while (!holds() && performance.now() < deadline) await wait(5)
  return holds()
}

/** Starts PostgreSQL; retries because processes of the killed server may still hold its shared memory. */
async function startAgain(postgres: PostgresServer): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await postgres.start()
    } catch (error) {
      if (tries === 20) throw error
      await wait(100)
    }
  }
}

const states = [
  'the first server refused a call with 503',
  'the second server refused a call with 503',
  'a connection ended without a response',
  'a call took effect without a response',
  'a retry was a replay',
  '/readyz returned 503 without the database',
  'a message of the database was cut off',
  'the database terminated a connection',
  'a redemption was reversed',
]

export const databaseAway: Campaign = {
  row: 'R4',
  name: 'PostgreSQL restarted, killed, unreachable and broken off, servers killed, under load of 2 servers',
  tags: ['failure-codes/3', 'health-routes/1', 'idempotency-keys/1', 'idempotency-keys/5'],
  requirement:
    'The PostgreSQL of two servers is stopped, killed or unreachable, or a server is killed. Calls get 503, and both servers recover within 5 s.',
  states,
  run: (run) =>
    onPostgres(run, {
      short: ['killed', 'refusing', 'breaking off', 'server killed'],
      long: harms,
      longRounds: 60,
      pools: false,
    }),
}

export const pooledDatabaseAway: Campaign = {
  row: 'R4',
  name: 'PostgreSQL behind pgbouncer in session mode, which is killed too, under load of 2 servers',
  tags: ['failure-codes/3', 'health-routes/1', 'idempotency-keys/1', 'idempotency-keys/5'],
  requirement:
    'The PostgreSQL of two servers is stopped, killed or unreachable, or pgbouncer or a server is killed. Calls get 503, and both servers recover within 5 s.',
  states,
  async run(run) {
    if (findProgram('pgbouncer') === undefined) return { skipped: noProgram('pgbouncer') }
    return onPostgres(run, {
      short: ['killed', 'pooler killed', 'breaking off', 'server killed'],
      long: [...harms, 'pooler killed'],
      longRounds: 28,
      pools: true,
    })
  },
}

async function onPostgres(run: Run, plan: Plan): Promise<Result> {
  let postgres: PostgresServer
  try {
    postgres = await startPostgres({ durable: true })
  } catch (error) {
    return { skipped: `PostgreSQL does not start here: ${error}` }
  }
  const pooler = plan.pools ? await startPgBouncer(postgres.url) : undefined
  const gate = await tcpGate(pooler?.port ?? postgres.port)
  try {
    return await campaign(run, plan, postgres, gate, pooler)
  } finally {
    await gate.remove()
    await pooler?.remove()
    await postgres.remove()
  }
}

async function campaign(run: Run, plan: Plan, postgres: PostgresServer, gate: Gate, pooler: PgBouncer | undefined) {
  const { quick, patience, random, folder, root, sometimes, say } = run
  const callLog = new CallLog(join(folder, 'acknowledged.ndjson'), sometimes)
  const broken: string[] = []
  const recoveries: number[] = []
  const env = { VOUCHERCTL_DATABASE_URL: postgres.url.replace(`:${postgres.port}/`, `:${gate.port}/`) }
  const start = () => startServer(root, join(folder, 'data'), ['--rate-limit', 'off'], env)
  const servers: [Server, Server] = [await start(), await start()]
  const fleet: Fleet = { servers, served: [0, 0], refusedMs: [], wrong: broken, sometimes, isOver: false }
  const first = await newTenant(servers[0])
  const { id } = await first.template({ issue_limit: 1_000_000 })
  const at = (place: 0 | 1): Tenant => tenantAt({ send: patient(fleet, place), operatorKey: '' }, first)
  const recoveryMsMax = RECOVERY_MS_MAX * patience
  const rounds = quick
    ? plan.short
    : Array.from({ length: plan.longRounds }, (_, round) => plan.long[round % plan.long.length] as Harm)

  try {
    for (const [round, harm] of rounds.entries()) {
      if (broken.length > 0) break
      let over = false
      const load = Promise.all(
        ([0, 1] as const).map((place) =>
          clerks(CLIENTS_EACH, {
            tenant: at(place),
            callLog,
            random: random.of(`round ${round} ${place}`),
            name: `d${round}-${place}`,
            templateIds: [id],
            shouldContinue: () => !over,
          }),
        ),
      )
      const before = fleet.served[0] + fleet.served[1]
      const after = random.between(20, 200)
      await until(() => fleet.served[0] + fleet.served[1] >= before + after, 20_000)
      await wait(random.below(20))
      const place = random.below(2) as 0 | 1
      const refused = fleet.refusedMs.length
      const backAt = await causeFault(harm, { postgres, pooler, gate, fleet, place, start, random, quick })
      if (outages.includes(harm) && fleet.refusedMs.length === refused) {
        broken.push(`${harm}: no call got 503`)
      }
      const [one, two] = fleet.served
      const serves = () => fleet.served[0] >= one + SERVES && fleet.served[1] >= two + SERVES
      if (!(await until(serves, recoveryMsMax))) broken.push(`${harm}: not both serve again after ${recoveryMsMax} ms`)
      recoveries.push(performance.now() - backAt)
      over = true
      await load
      // Repeats of calls at the other server must get the same responses.
      const acknowledged = callLog.acknowledged().filter(({ key }) => key.includes(`-d${round}-`))
      await Promise.all(acknowledged.map((entry, index) => send(at((index % 2) as 0 | 1), callLog, entry)))
      broken.push(...callLog.unresolved().map(({ key }) => `${key} never got a response`))
      say(`${harm}, ${round + 1} of ${rounds.length}: ${callLog.acknowledged().length} acknowledged`)
    }
  } finally {
    fleet.isOver = true
  }
  for (const server of servers) await server.stop()
  const stored = await readStoredIn(postgres.url)
  broken.push(...breachesIn(stored), ...differences(callLog, stored))
  return {
    facts: {
      harms: recoveries.length,
      acknowledged: callLog.acknowledged().length,
      'done without response': callLog.doneWithoutResponse,
      'responses of 503': fleet.refusedMs.length,
      '503 after': spread(fleet.refusedMs),
      recovery: spread(recoveries),
    },
    broken,
  }
}

interface Scene {
  readonly postgres: PostgresServer
  readonly pooler: PgBouncer | undefined
  readonly gate: Gate
  readonly fleet: Fleet
  readonly place: 0 | 1
  readonly start: () => Promise<Server>
  readonly random: Random
  readonly quick: boolean
}

/** Causes the fault and repairs it; returns the time of the repair. */
async function causeFault(harm: Harm, scene: Scene): Promise<number> {
  const { postgres, pooler, gate, fleet, place, start, random, quick } = scene
  const before = fleet.refusedMs.length
  const refused = () => until(() => fleet.refusedMs.length > before, REFUSED_MS_MAX)
  const awayMs = quick ? 1_000 : AWAY_MS
  switch (harm) {
    case 'restarted':
    case 'killed':
      if (harm === 'killed') postgres.kill()
      await postgres.stop()
      await refused()
      await expectAway(fleet)
      await startAgain(postgres)
      break
    case 'pooler killed':
      await pooler?.kill()
      await refused()
      await expectAway(fleet)
      await pooler?.start()
      break
    case 'refusing':
      await gate.shut()
      await wait(awayMs)
      await refused()
      await expectAway(fleet)
      await gate.open()
      break
    case 'silent':
      gate.freeze()
      await wait(awayMs)
      await refused()
      gate.thaw()
      break
    case 'breaking off':
      gate.cutAfter = (bytes) => (random.chance(BROKEN_OFF_SHARE) ? lastOf(bytes, random, fleet) : null)
      await wait(awayMs)
      gate.cutAfter = null
      break
    case 'server killed':
      await fleet.servers[place].kill()
      fleet.servers[place] = await start()
      break
  }
  return performance.now()
}

/** The last bytes before a cut: a part of the message, or the message with PostgreSQL's termination message. */
function lastOf(response: Buffer, random: Random, { sometimes }: Fleet): Buffer {
  if (random.chance(0.5)) {
    sometimes.note('a message of the database was cut off')
    return response.subarray(0, random.below(response.length + 1))
  }
  sometimes.note('the database terminated a connection')
  return Buffer.concat([response, postgresError('57P01', 'terminating connection due to administrator command')])
}

/** Requires that /healthz returns 200 and /readyz 503 while the database is unavailable. */
async function expectAway({ servers, wrong, sometimes }: Fleet): Promise<void> {
  const ask = (path: string): Promise<ApiResponse> => servers[0].send({ method: 'GET', path })
  const [alive, ready] = [await ask('/healthz'), await ask('/readyz')]
  if (ready.status === 503) sometimes.note('/readyz returned 503 without the database')
  if (alive.status !== 200 || ready.status !== 503) {
    wrong.push(`with its database away: /healthz ${alive.status}, /readyz ${ready.status}`)
  }
}
