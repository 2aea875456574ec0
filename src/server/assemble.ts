import { createHash, randomBytes, randomFillSync } from 'node:crypto'
import { newId, type RandomBytes } from '../domain/ids.js'
import { formatInstant } from '../domain/time.js'
import { hashToken } from '../domain/tokens.js'
import { Inspector } from '../inspector/inspector.js'
import type { SessionStorage } from '../inspector/page-sessions.js'
import { hasNoKeys } from '../store/keys.js'
import { memorySessions } from '../store/sessions.js'
import { sharedSessions } from '../store/shared-sessions.js'
import type { Store } from '../store/store.js'
import { isLoopbackHost } from '../values/loopback.js'
import { ownAccountKeys, remoteAccountKeys } from './account-keys.js'
import { buildApp } from './app.js'
import { BotCalls, TokenUses } from './background/counts.js'
import { type Clock, steadyNow, TestClock } from './clock.js'
import { AttemptLog } from './delivery/attempt-log.js'
import { createLookup } from './delivery/guard.js'
import { WebhookSender } from './delivery/sender.js'
import { DeliveryWorker } from './delivery/worker.js'
import type { Deps } from './deps.js'
import { Faults } from './faults.js'
import { Gate } from './gate.js'
import { requireKeysOfFleet, type ServerKeys } from './keys.js'
import { ClientAddresses, createLimits } from './limits.js'
import { Activity } from './observe/activity.js'
import type { openLog } from './observe/log.js'
import { createMetrics } from './observe/metrics.js'
import { RequestLog, requestLine } from './observe/request-log.js'
import type { ServerOptions } from './options.js'
import type { ServerPlace } from './place.js'
import { Polls } from './polls.js'
import { recordStore, requireNoOtherStore } from './served-store.js'
import { Snapshots } from './snapshots.js'
import { openClock } from './stored-clock.js'
import { SharedSecureKeys, sessionSealing } from './transport/shared-keys.js'

/** Options of a server inside another program's process. */
export interface InProcessOptions
  extends Pick<
    ServerOptions,
    'autoApprove' | 'databaseUrl' | 'logTo' | 'rateLimits' | 'requireSecure' | 'secure' | 'seed'
  > {
  readonly clock: Clock
  /** False opens no port: requests reach the server through `respond` only. */
  readonly listens: boolean
  /** Dependencies in place of the server's own. */
  readonly parts?: Partial<Omit<Deps, 'snapshots'>>
}

export type StartOptions = ServerOptions &
  Partial<InProcessOptions> & {
    readonly schema?: string
    readonly closeMsMax?: number
    /** True for a server inside another program, which it must not keep alive. */
    readonly isInProcess?: boolean
    readonly loopbackPorts?: Deps['webhooks']['loopbackPorts']
  }

const noLog: ReturnType<typeof openLog> = {
  log: { error() {}, info() {}, isLevelEnabled: () => false, warn() {} },
  target: { write() {} },
}

export type ServerParts = Awaited<ReturnType<typeof assemble>>

/** Creates all parts of a server without starting them. */
export async function assemble(options: StartOptions, place: ServerPlace, store: Store) {
  const { log, target } = options.logLevel === 'silent' ? noLog : (await import('./observe/log.js')).openLog(options)
  const notFollowed = (error: unknown) => log.error({ err: error }, 'the clock of the store is not followed')
  const clock = options.clock ?? (await openClock(store, options.testClock === true, notFollowed))
  const random = options.parts?.random ?? pooledRandom()
  const isNew = await store.read(hasNoKeys)
  if (isNew && !options.newStore) requireNoOtherStore(place.dataDir, store.database)
  const keys = place.loadKeys(random, isNew)
  await requireKeysOfFleet(store, keys.credentials, clock.now())
  recordStore(place.dataDir, store.database)

  const operatorKey = place.loadOperatorKey(random)
  const isLoopback = isLoopbackHost(options.host ?? '127.0.0.1')
  const named = new Set(options.webhookLoopbackPorts)
  const onlyLoopback = { has: (port: number) => port >= 1_024 || named.has(port), only: true }
  const webhooks = {
    loopbackPorts: options.loopbackPorts ?? (options.webhookLoopbackOnly ? onlyLoopback : named),
    egressIps: options.egressIps ?? [],
    lends: isLoopback,
    lookup: createLookup(),
  }
  const essential = { store, clock, random, keys: keys.credentials }
  const parts = createDeps({
    ...essential,
    accounts: accountKeysOf(options, keys, log),
    operatorKeyHash: operatorKey === null ? null : hashToken(operatorKey),
    inspector:
      operatorKey !== null && servesPage(options)
        ? createInspector(options, random, clock, { key: operatorKey, file: place.pageSessions })
        : null,
    limits: createLimits(options.rateLimits ?? {}, clock instanceof TestClock ? () => clock.now() : undefined),
    addresses: new ClientAddresses(options.trustedProxies, (peer) => warnOfProxy(log, peer)),
    activity: new Activity({ now: () => clock.now(), inspect: options.inspect ?? false }),
    webhooks,
    sender: new WebhookSender(webhooks),
    secure: await secureSettings(options, place, essential),
    autoApprove: options.autoApprove ?? false,
    stateAccess: {
      isAllowed: options.allowReset ?? isLoopback,
      isShared: options.databaseUrl !== undefined && options.schema === undefined,
    },
    isLoopback,
    ...options.parts,
  })
  parts.faults.restart(options.seed?.faults)
  const snapshots = new Snapshots(parts, options.seed)
  const deps: Deps = { ...parts, snapshots }
  const logsRequests = log.isLevelEnabled('info')
  const metrics = createMetrics(deps)
  const app = buildApp(deps, metrics, {
    onRequestDone: (entry) => void (logsRequests && target.write(requestLine(entry))),
    onError: (requestId, error) => log.error({ request_id: requestId, err: error }, 'request failed'),
  })
  const deliveries = new DeliveryWorker({
    store,
    clock,
    keys: deps.keys,
    sender: deps.sender,
    faults: deps.faults,
    // Without the operator API, nobody could read the attempts.
    attempts: operatorKey === null ? undefined : deps.attempts,
    onAttempt: metrics.attemptEnded,
    onError: (error) => log.error({ err: error }, 'deliveries failed'),
  })
  return { app, log, target, deps, snapshots, operatorKey, deliveries, storeId: storeIdOf(keys) }
}

/** Id of the store to which clients bind credentials. It follows from a key, so it is the same after each start. */
const storeIdOf = ({ account }: ServerKeys) =>
  createHash('sha256').update('store id').update(account).digest('hex').slice(0, 32)

type Log = ReturnType<typeof openLog>['log']

const accountKeysOf = ({ jwksUrl }: ServerOptions, keys: ServerKeys, log: Log) =>
  jwksUrl === undefined
    ? ownAccountKeys(keys.account)
    : remoteAccountKeys(new URL(jwksUrl), (reason) => log.warn({ reason }, 'the key set cannot be read'))

const warnOfProxy = (log: Log, peer: string) =>
  log.warn(
    { peer },
    `requests arrive through a proxy at ${peer} that is not trusted, so all its clients share the limits by address; start the server with --trusted-proxy ${peer}`,
  )

/** The servers of one database share keys and sessions. */
async function secureSettings(
  options: ServerOptions,
  place: ServerPlace,
  { store, clock, random, keys }: Pick<Deps, 'store' | 'clock' | 'random' | 'keys'>,
): Promise<Deps['secure']> {
  return {
    enabled: options.secure ?? true,
    required: options.requireSecure ?? false,
    brand: options.brand ?? 'platform',
    allowedOrigins: options.allowedOrigins ?? ['*'],
    ...(options.databaseUrl === undefined
      ? { keys: place.openTransportKeys(random, clock), sessions: memorySessions() }
      : {
          keys: await SharedSecureKeys.open(store, keys, random, clock),
          sessions: sharedSessions(store, sessionSealing(keys, random)),
        }),
  }
}

/** The page and the checks of Host exist only for a port that other machines cannot reach (rules/operator.md#page). */
const servesPage = ({ host = '127.0.0.1', listens = true }: StartOptions) => listens && isLoopbackHost(host)

function createInspector(
  { startCommand }: ServerOptions,
  random: RandomBytes,
  clock: Clock,
  sessions: SessionStorage,
): Inspector {
  return new Inspector({
    startCommand,
    random,
    now: steadyNow,
    sessions,
    features: {
      source: 'server',
      test_clock: clock instanceof TestClock,
      // Show the clock view even without a test clock: it says how to start one.
      views: [
        'requests',
        'vouchers',
        'deliveries',
        'faults',
        'reviews',
        'templates',
        'clock',
        'errors',
        'state',
        'reference',
        'chats',
        'bots',
      ],
      started_at: formatInstant(Date.now()),
    },
  })
}

/** Creates the dependencies that follow from the given ones. */
function derive({ store, clock, random }: Pick<Deps, 'store' | 'clock' | 'random'>, newIdOf: Deps['newId']) {
  return {
    newId: newIdOf,
    proofKey: randomBytes(32).toString('base64url'),
    leaseNow: store.name === 'postgres' ? Date.now : steadyNow,
    faults: new Faults({ newId: newIdOf, now: () => clock.now(), random }),
    tokenUses: new TokenUses(store),
    botCalls: new BotCalls(store),
    polls: new Polls({ across: store.name === 'postgres' }),
    attempts: new AttemptLog(),
    gate: new Gate(),
  }
}
type Derived = keyof ReturnType<typeof derive> | 'activity' | 'requestLog' | 'instanceId'

/** Completes dependencies with those that follow from the given ones. */
export function createDeps(
  given: Omit<Deps, Derived | 'snapshots'> & Partial<Pick<Deps, Derived>>,
): Omit<Deps, 'snapshots'> {
  const { clock, random } = given
  return {
    ...derive(given, given.newId ?? ((prefix) => newId(prefix, clock.now(), random))),
    activity: given.activity ?? new Activity({ now: () => clock.now() }),
    requestLog: given.requestLog ?? new RequestLog(clock.now()),
    instanceId: given.instanceId ?? Buffer.from(random(16)).toString('hex'),
    ...given,
  }
}

/** Fetches random bytes from the operating system in blocks: one system call for several hundred ids. */
function pooledRandom(): RandomBytes {
  const pool = new Uint8Array(8192)
  let used = pool.length
  return (size) => {
    if (size > pool.length) return randomFillSync(Buffer.alloc(size))
    if (used + size > pool.length) {
      randomFillSync(pool)
      used = 0
    }
    used += size
    return pool.slice(used - size, used)
  }
}
