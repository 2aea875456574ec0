import { randomFillSync } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import process from 'node:process'
import { isLoopbackHost } from '../contract/values/loopback.js'
import type { RandomBytes } from '../domain/ids.js'
import type { Keyring } from '../domain/keyring.js'
import { formatInstant } from '../domain/time.js'
import { hashToken } from '../domain/tokens.js'
import { Inspector } from '../inspector/inspector.js'
import { applyBacklog, BACKLOG } from '../store/delivery/backlog.js'
import { hasNoKeys, lockKeys, registerKeys, unknownKeys } from '../store/keys.js'
import type { Op } from '../store/operation.js'
import { type ProcessSession, processesWithout } from '../store/postgres/key-locks.js'
import { memorySessions } from '../store/sessions.js'
import { sharedSessions } from '../store/shared-sessions.js'
import { openSqliteStore } from '../store/sqlite/store.js'
import { type Store, StoreUnavailable, StoreUnusable } from '../store/store.js'
import { ownAccountKeys, remoteAccountKeys } from './accounts.js'
import { type App, buildApp } from './app.js'
import { ExpirySweeper } from './background/expiry-sweeper.js'
import { type Clock, steadyNow, systemClock, TestClock } from './clock.js'
import { createDeps } from './create-deps.js'
import { createLookup } from './delivery/guard.js'
import { createSender } from './delivery/sender.js'
import { DeliveryWorker } from './delivery/worker.js'
import type { Deps } from './deps.js'
import { KeysUnusable, keyChecks, registerServer } from './folder.js'
import { createClientAddresses } from './http/client-address.js'
import { createLimits } from './limits.js'
import { Activity } from './observe/activity.js'
import type { openLog } from './observe/log.js'
import { createMetrics } from './observe/metrics.js'
import { requestLine } from './observe/request-log.js'
import type { RunningServer, ServerOptions } from './options.js'
import { placeInFolder, placeInMemory, type ServerPlace } from './place.js'
import { plantSeed } from './seed/plant.js'
import { Snapshots } from './snapshots.js'
import { sessionSealing } from './transport/session-sealing.js'
import { SharedSecureKeys } from './transport/shared-keys.js'

const DEFAULT_PORT = 8420

/** Grace period for requests and deliveries in flight when the server stops. */
const CLOSE_MS_MAX = 9_000
/** The same for a server inside a test: less than the limits that runners set for hooks. */
const IN_PROCESS_CLOSE_MS_MAX = 1_000
const TOKEN_USE_INTERVAL_MS = 60_000
const BOT_CALLS_INTERVAL_MS = 60_000
const EXPIRY_INTERVAL_MS = 60_000

/**
 * Starts a server; resolves when it accepts connections.
 * @throws an error with a `code`: EADDRINUSE, DATA_FOLDER_IN_USE, STORE_UNUSABLE, DATABASE_UNREACHABLE, SQLITE_MISSING,
 * KEYS_UNUSABLE, STORE_NOT_EMPTY, OPERATOR_NOT_LOOPBACK
 */
export async function startServer(options: ServerOptions = {}): Promise<RunningServer> {
  const host = options.host ?? '127.0.0.1'
  // On a public host, remote clients could make this server call services of its own machine.
  if ((options.webhookLoopbackPorts ?? []).length > 0 && !isLoopbackHost(host)) {
    throw new RangeError('webhookLoopbackPorts needs a host that is loopback')
  }
  const place = placeInFolder(options)
  const { dataDir, operatorKeyFile } = place
  try {
    const { baseUrl, store, seed, close } = await start(options, place)
    const address = { baseUrl: baseUrl as string, pid: process.pid, dataDir, operatorKeyFile, store, close }
    const { names } = options.differences ?? {}
    const running = names === undefined ? address : { ...address, differences: names }
    return seed === undefined ? running : { ...running, seed }
  } catch (error) {
    if (!(error instanceof StoreUnavailable) || options.databaseUrl !== undefined) throw error
    const text = `The database in ${dataDir} cannot be written; its disk may be full. Free some space, or use another --data.`
    throw new StoreUnusable('STORE_UNUSABLE', text, { cause: error })
  }
}

/** Options of a server that a program runs for itself. */
interface InProcessOptions
  extends Pick<
    ServerOptions,
    'autoApprove' | 'databaseUrl' | 'logTo' | 'rateLimits' | 'requireSecure' | 'secure' | 'seed'
  > {
  readonly clock: Clock
  /** False opens no port: requests reach the server through `respond` only. */
  readonly listens: boolean
}

/** Starts a server for the program in whose process it runs (DECISIONS.md#servers-inside-a-test). */
export async function startInProcess(options: InProcessOptions): Promise<StartedServer> {
  const { databaseUrl } = options
  const embedded = {
    ...options,
    port: 0,
    logLevel: options.logTo === undefined ? 'silent' : 'info',
    loopbackPorts: { has: () => true },
    closeMsMax: IN_PROCESS_CLOSE_MS_MAX,
  } as const
  if (databaseUrl === undefined) return start(embedded, placeInMemory())
  const { createSchema } = await import('../store/postgres/schema.js')
  const schema = await createSchema({ url: databaseUrl, env: process.env })
  try {
    const started = await start({ ...embedded, schema: schema.name }, placeInMemory())
    await schema.handOver()
    return { ...started, close: () => started.close().finally(() => schema.drop()) }
  } catch (error) {
    await schema.drop()
    throw error
  }
}

type StartOptions = ServerOptions &
  Partial<InProcessOptions> & {
    readonly schema?: string
    readonly closeMsMax?: number
    readonly loopbackPorts?: Deps['webhooks']['loopbackPorts']
    /** Dependencies that replace those of the server. */
    readonly parts?: Partial<Pick<Deps, 'store' | 'random' | 'accounts' | 'webhooks' | 'sender'>>
  }

export interface StartedServer {
  readonly app: App
  readonly deps: Deps
  /** Null for a server without a port. */
  readonly baseUrl: string | null
  readonly store: string
  readonly operatorKey: string | null
  readonly seed?: 'planted' | 'present'
  close(): Promise<void>
}

/** Starts a server whose keys and files are in `place`. */
export async function start(options: StartOptions, place: ServerPlace): Promise<StartedServer> {
  const undo: (() => unknown)[] = [() => place.remove()]
  try {
    const store = options.parts?.store ?? (await openStore(options, place))
    undo.push(() => store.close())
    const server = await assemble(options, place, store)
    undo.push(() => server.app.close())
    const seed = options.seed && (await plantSeed(store, options.seed, server.deps.clock.now()))
    const { host = '127.0.0.1', port = DEFAULT_PORT, listens = true } = options
    if (listens) await server.app.listen({ host, port })
    const started = await finishStart(server, place, options, undo)
    return seed === undefined ? started : { ...started, seed }
  } catch (error) {
    for (const step of undo.reverse()) await step()
    throw error
  }
}

async function openStore({ databaseUrl, schema }: StartOptions, { database }: ServerPlace): Promise<Store> {
  if (databaseUrl === undefined) return openSqliteStore(database)
  // Load the driver only when needed: it takes longer than the rest of a start.
  const { openPostgresStore } = await import('../store/postgres/store.js')
  return openPostgresStore({ url: databaseUrl, env: process.env, ...(schema === undefined ? {} : { schema }) })
}

const noLog: ReturnType<typeof openLog> = {
  log: { error() {}, info() {}, isLevelEnabled: () => false, warn() {} },
  target: { write() {} },
}

/** A flag counts more than the file of differences. */
const rateLimitsOf = ({ rateLimits, differences }: ServerOptions) =>
  rateLimits === 'off' ? rateLimits : { ...differences?.rateLimits, ...rateLimits }

type ServerParts = Awaited<ReturnType<typeof assemble>>

async function assemble(options: StartOptions, place: ServerPlace, store: Store) {
  const clock = options.clock ?? (options.testClock ? new TestClock() : systemClock)
  const random = options.parts?.random ?? pooledRandom()
  const keys = await place.loadKeys(random, () => store.read(hasNoKeys))
  await requireKeysOfFleet(store, keys.credentials, clock.now())

  const operatorKey = place.loadOperatorKey(random)
  const { log, target } = options.logLevel === 'silent' ? noLog : (await import('./observe/log.js')).openLog(options)
  const logsRequests = log.isLevelEnabled('info')
  const webhooks = {
    loopbackPorts: options.loopbackPorts ?? new Set(options.webhookLoopbackPorts),
    egressIps: options.egressIps ?? [],
    lookup: createLookup(),
  }
  const parts = createDeps({
    store,
    clock,
    random,
    keys: keys.credentials,
    accounts:
      options.jwksUrl === undefined
        ? ownAccountKeys(keys.account)
        : remoteAccountKeys(new URL(options.jwksUrl), (reason) => log.warn({ reason }, 'the key set cannot be read')),
    operatorKeyHash: operatorKey === null ? null : hashToken(operatorKey),
    inspector: operatorKey !== null && servesPage(options) ? createInspector(random, clock) : null,
    limits: createLimits(rateLimitsOf(options)),
    addresses: createClientAddresses(options.trustedProxies, (peer) =>
      log.warn(
        { peer },
        `requests arrive through a proxy at ${peer} that is not trusted, so all its clients share the limits by address; start the server with --trusted-proxy ${peer}`,
      ),
    ),
    activity: new Activity({ now: () => clock.now(), inspect: options.inspect ?? false }),
    webhooks,
    sender: createSender(webhooks),
    secure: {
      enabled: options.secure ?? true,
      required: options.requireSecure ?? false,
      brand: options.brand ?? 'platform',
      allowedOrigins: options.allowedOrigins ?? ['*'],
      ...(options.databaseUrl === undefined
        ? { keys: place.openTransportKeys(random, clock), sessions: memorySessions() }
        : {
            keys: await SharedSecureKeys.open(store, keys.credentials, random, clock),
            sessions: sharedSessions(store, sessionSealing(keys.credentials, random)),
          }),
    },
    autoApprove: options.autoApprove ?? false,
    differences: options.differences ?? {},
    stateAccess: {
      isAllowed: options.allowReset ?? isLoopbackHost(options.host ?? '127.0.0.1'),
      isShared: options.databaseUrl !== undefined && options.schema === undefined,
    },
    ...options.parts,
  })
  const snapshots = new Snapshots(parts, options.seed)
  const deps: Deps = { ...parts, snapshots }
  const app = buildApp(deps, createMetrics(store.name), {
    onRequestDone(entry, voucher) {
      deps.requestLog.add(entry, voucher)
      if (logsRequests) target.write(requestLine(entry))
    },
    onError: (requestId, error) => log.error({ request_id: requestId, err: error }, 'request failed'),
  })
  app.server.once('listening', () => deps.inspector?.listen(baseUrlOf(app, options.host) as string))

  const deliveries = new DeliveryWorker({
    store,
    clock,
    keys: deps.keys,
    sender: deps.sender,
    // Without an operator nobody could read the attempts.
    attempts: operatorKey === null ? undefined : deps.attempts,
    onError: (error) => log.error({ err: error }, 'deliveries failed'),
  })
  return { app, log, target, deps, snapshots, operatorKey, deliveries }
}

async function finishStart(
  { app, log, target, deps, snapshots, operatorKey, deliveries }: ServerParts,
  place: ServerPlace,
  options: StartOptions,
  undo: (() => unknown)[],
): Promise<StartedServer> {
  const baseUrl = baseUrlOf(app, options.host)
  const running = {
    pid: process.pid,
    data_dir: place.dataDir,
    base_url: baseUrl,
    operator_key_file: place.operatorKeyFile,
    store: deps.store.name,
    ...(deps.differences.names === undefined ? {} : { differences: deps.differences.names }),
  }
  const file = { ...running, instance_id: deps.instanceId, started_at: formatInstant(Date.now()) }
  const withdraw = place.announce(file)
  undo.push(withdraw)
  let unregister = () => {}
  try {
    if (options.registryDir !== undefined) unregister = registerServer(options.registryDir, file)
  } catch (error) {
    log.warn({ err: error }, `the server is not listed in ${options.registryDir}`)
  }
  undo.push(unregister)

  // Start deliveries first: a failure after the timers and listeners below would leave them running.
  await deliveries.start({ alone: options.databaseUrl === undefined })
  undo.push(() => deliveries.stop(0))

  const failed = (what: string) => (error: unknown) => log.error({ err: error }, what)
  const sweeper = new ExpirySweeper(deps.store, failed('what has expired was not removed'))
  // Applies backlogs of changed webhooks and dropped updates (store/delivery/backlog.ts).
  const backlogs = new ExpirySweeper(deps.store, failed('a backlog was not settled'), [
    (now) => applyBacklog({ now, newDeliveryId: () => deps.newId('dlv') }),
  ])
  const applyBacklogs = () => void backlogs.start(deps.clock.now())
  const stopListening = deps.store.listen((subject) => subject === BACKLOG && applyBacklogs(), applyBacklogs)
  const sweep = () => {
    const now = deps.clock.now()
    void sweeper.start(now)
    // Also apply backlogs that another process left when it exited or failed.
    applyBacklogs()
    const { sessions, keys } = deps.secure
    sessions
      .deleteExpired(now)
      .then(() => keys.destroyExpired(now))
      .catch(failed('keys of the encrypted transport were not destroyed'))
  }
  const timers = [
    setInterval(() => deps.tokenUses.flush().catch(failed('token uses were not written')), TOKEN_USE_INTERVAL_MS),
    setInterval(() => deps.botCalls.flush().catch(failed('calls of bots were not written')), BOT_CALLS_INTERVAL_MS),
    setInterval(sweep, EXPIRY_INTERVAL_MS),
  ]
  const stopFollowingClock = deps.clock.onMove(sweep)
  snapshots.include(deliveries)
  snapshots.include(sweeper)
  snapshots.include({
    pause: () => backlogs.pause(),
    resume() {
      backlogs.resume()
      applyBacklogs()
    },
  })
  for (const timer of timers) timer.unref()
  applyBacklogs()
  log.info(running, 'listening')

  const { closeMsMax = CLOSE_MS_MAX } = options
  let closing: Promise<void> | undefined
  const close = async () => {
    for (const timer of timers) clearInterval(timer)
    stopFollowingClock()
    stopListening()
    deps.requestLog.close()
    deps.activity.close()
    const overdue = setTimeout(() => {
      void deps.faults.end()
      app.server.closeAllConnections()
    }, closeMsMax)
    app.server.closeIdleConnections()
    await Promise.all([app.close(), deliveries.stop(closeMsMax)])
    clearTimeout(overdue)
    // app.close() does not wait for a delayed call whose client has disconnected: end the call before the store closes.
    await deps.faults.end()
    await Promise.all([sweeper.stop(), backlogs.stop()])
    await deps.tokenUses.flush().catch(failed('token uses were not written'))
    await deps.botCalls.flush().catch(failed('calls of bots were not written'))
    await deps.store.close()
    withdraw()
    unregister()
    place.remove()
    log.info('stopped')
    await target.end?.()
  }
  return {
    app,
    deps,
    baseUrl,
    store: deps.store.name,
    operatorKey,
    close: () => {
      closing ??= close()
      return closing
    },
  }
}

/** The page and the checks of Host are for a port that only this machine reaches (DECISIONS.md#page). */
const servesPage = ({ host = '127.0.0.1', listens = true }: StartOptions) => listens && isLoopbackHost(host)

function createInspector(random: RandomBytes, clock: Clock): Inspector {
  return new Inspector({
    random,
    now: steadyNow,
    features: {
      source: 'server',
      test_clock: clock instanceof TestClock,
      // Without a test clock, the view says how to start one.
      views: ['requests', 'vouchers', 'deliveries', 'faults', 'reviews', 'templates', 'clock'],
      started_at: formatInstant(Date.now()),
    },
  })
}

function baseUrlOf({ server }: App, host = '127.0.0.1'): string | null {
  const address = server.address() as AddressInfo | null
  return address && `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`
}

/**
 * Refuses to start without the keys of the database's vouchers, or if another running process lacks the current key
 * (DECISIONS.md#credential-keys-of-a-fleet).
 * @throws KeysUnusable
 */
async function requireKeysOfFleet(store: Store, ring: Keyring, now: number): Promise<void> {
  const checks = keyChecks(ring)
  // Check before taking key locks: they would make a process with wrong keys look like a server that lacks a key.
  await store.read(() => requireSameKeys(checks))
  await store.holdKeys?.(ring.all.map(({ id }) => id))
  await store.write(function* () {
    yield* lockKeys()
    yield* requireSameKeys(checks)
    if (store.holdKeys !== undefined) yield* requireCurrentEverywhere(ring.current.id)
    yield* registerKeys(checks, now)
  })
}

/** Refuses to start without the registered credential keys, with which the server verifies existing vouchers. */
function* requireSameKeys(checks: ReadonlyMap<string, string>): Op<void> {
  const unknown = yield* unknownKeys(checks)
  if (unknown.length === 0) return
  throw new KeysUnusable(
    `The vouchers in this database were made with credential key ${unknown.join(', ')}, which the key file lacks or has with another value. Restore keys.json of this data folder, or name the right file with --key-file.`,
  )
}

/** Refuses to start if another process lacks the current key and would not find the vouchers of this process. */
function* requireCurrentEverywhere(current: string): Op<void> {
  const without = yield* processesWithout(current)
  if (without.length === 0) return
  const named = ({ pid, address }: ProcessSession) => `${pid}${address === null ? '' : ` from ${address}`}`
  throw new KeysUnusable(
    `Credential key ${current} is current in the key file, but other running servers of this database do not have it and would find none of its vouchers (PostgreSQL sessions: ${without.map(named).join(', ')}). Make the previous key current again, add ${current} to the key file of every server and restart them all; only then make it current.`,
  )
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
