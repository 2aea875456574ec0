import type { AddressInfo } from 'node:net'
import process from 'node:process'
import { formatInstant } from '../domain/time.js'
import { codeOf } from '../files/error-code.js'
import { openSqliteStore } from '../store/sqlite/store.js'
import { type Store, StoreUnavailable, StoreUnusable } from '../store/store.js'
import { defined } from '../values/json.js'
import { isLoopbackHost } from '../values/loopback.js'
import type { App } from './app.js'
import { assemble, type InProcessOptions, type ServerParts, type StartOptions } from './assemble.js'
import { Upkeep } from './background/upkeep.js'
import { TestClock } from './clock.js'
import type { Deps } from './deps.js'
import type { RunningServer, ServerOptions } from './options.js'
import { placeInFolder, placeInMemory, registerServer, type ServerPlace } from './place.js'
import { plantSeed } from './seed/plant.js'
import type { Seed } from './seed/schema.js'
import { aheadText } from './stored-clock.js'

const DEFAULT_PORT = 8420
/** Ports from the default one that a start without a port tries. */
const PORTS_MAX = 20

/** Grace period in ms for requests and deliveries in flight when the server stops. */
const CLOSE_MS_MAX = 9_000
/** Grace period in ms for a server inside a test: shorter than the limits of test runners for hooks. */
const IN_PROCESS_CLOSE_MS_MAX = 1_000

/**
 * Starts a server; resolves when it accepts connections.
 * @throws an error with a `code`: EADDRINUSE, DATA_FOLDER_IN_USE, STORE_UNUSABLE, DATABASE_UNREACHABLE, SQLITE_MISSING,
 * KEYS_UNUSABLE, STORE_NOT_EMPTY, OPERATOR_NOT_LOOPBACK
 */
export async function startServer(options: ServerOptions = {}): Promise<RunningServer> {
  const host = options.host ?? '127.0.0.1'
  // On a public host, remote clients could make this server call services of its machine.
  if ((options.webhookLoopbackPorts ?? []).length > 0 && !isLoopbackHost(host)) {
    throw new RangeError('webhookLoopbackPorts needs a host that is loopback')
  }
  const place = placeInFolder(options)
  const { dataDir, operatorKeyFile } = place
  try {
    const { baseUrl, store, seed, deps, close } = await start(options, place)
    const replant = (it: Seed) => deps.snapshots.reset(it)
    const running = { baseUrl: baseUrl as string, pid: process.pid, dataDir, operatorKeyFile, store, replant, close }
    const testClock = aheadText(deps.clock instanceof TestClock ? deps.clock.ahead : 0)
    return { ...running, ...defined({ database: deps.store.database, testClock, seed }) }
  } catch (error) {
    if (!(error instanceof StoreUnavailable) || options.databaseUrl !== undefined) throw error
    const text = `The database in ${dataDir} cannot be written; its disk may be full. Free some space, or use another --data.`
    throw new StoreUnusable('STORE_UNUSABLE', text, { cause: error })
  }
}

/** Starts a server inside the process of the calling program (rules/server.md#servers-inside-a-test). */
export async function startInProcess(options: InProcessOptions): Promise<StartedServer> {
  const { databaseUrl } = options
  const embedded = {
    ...options,
    port: 0,
    isInProcess: true,
    inspect: true,
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
    const seed = options.seed && (await plantSeed(store, options.seed, server.deps.clock.now(), server.deps))
    if (options.listens ?? true) await listen(server, options)
    const running = describe(server, place, options.host)
    const withdraw = announce(server, place, options.registryDir, running)
    undo.push(withdraw)
    // Start deliveries first: a failure after the start of the upkeep would leave its timers and listeners running.
    await server.deliveries.start({ alone: options.databaseUrl === undefined })
    undo.push(() => server.deliveries.stop(0))
    const upkeep = startUpkeep(server)
    server.log.info(running, 'listening')

    let closing: Promise<void> | undefined
    const close = async () => {
      // First, because another process may take the port before this one ends, and would get credentials.
      withdraw()
      server.deps.inspector?.close()
      await stop(server, upkeep, options.closeMsMax ?? CLOSE_MS_MAX)
      place.remove()
      server.log.info('stopped')
      await server.target.end?.()
    }
    const { app, deps, operatorKey } = server
    const started: StartedServer = {
      app,
      deps,
      baseUrl: running.base_url,
      store: deps.store.name,
      operatorKey,
      close: () => {
        closing ??= close()
        return closing
      },
    }
    return seed === undefined ? started : { ...started, seed }
  } catch (error) {
    for (const step of undo.reverse()) await step()
    if (!(error instanceof StoreUnavailable) || options.databaseUrl === undefined) throw error
    const { message } = error.cause instanceof Error ? error.cause : error
    const how = 'Start the server again; a pooler must allow each server 14 connections.'
    throw new StoreUnusable('DATABASE_UNREACHABLE', `The database failed during the start (${message}). ${how}`)
  }
}

async function openStore({ databaseUrl, schema }: StartOptions, { database }: ServerPlace): Promise<Store> {
  if (databaseUrl === undefined) return openSqliteStore(database)
  // Import on demand: loading the driver takes longer than the rest of a start.
  const { openPostgresStore } = await import('../store/postgres/store.js')
  return openPostgresStore({ url: databaseUrl, env: process.env, ...(schema === undefined ? {} : { schema }) })
}

async function listen({ app, deps }: ServerParts, options: StartOptions) {
  const { host = '127.0.0.1', port, isInProcess = false } = options
  // A test whose server was not closed must end: its own calls keep the process alive while they wait.
  if (isInProcess) app.server.unref().on('connection', (socket) => socket.unref())
  app.server.once('listening', () => deps.inspector?.listen(baseUrlOf(app, host) as string))
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await app.listen({ host, port: port ?? DEFAULT_PORT + attempt - 1 })
    } catch (error) {
      if (port !== undefined || attempt === PORTS_MAX || codeOf(error) !== 'EADDRINUSE') throw error
    }
  }
}

function baseUrlOf({ server }: App, host = '127.0.0.1'): string | null {
  const address = server.address() as AddressInfo | null
  return address && `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`
}

/** Facts about a running server for other processes. */
function describe({ app, deps }: ServerParts, place: ServerPlace, host: string | undefined) {
  return {
    pid: process.pid,
    data_dir: place.dataDir,
    base_url: baseUrlOf(app, host),
    operator_key_file: place.operatorKeyFile,
    store: deps.store.name,
    ...defined({ database: deps.store.database }),
  }
}

/** Lists a server in its folder and in the user's registry. Returns a function that removes both entries. */
function announce(
  { deps, log, storeId }: ServerParts,
  place: ServerPlace,
  registryDir: string | undefined,
  running: ReturnType<typeof describe>,
): () => void {
  const { instanceId, proofKey } = deps
  const ids = { instance_id: instanceId, store_id: storeId, proof_key: proofKey }
  const file = { ...running, ...ids, started_at: formatInstant(Date.now()) }
  const withdraw = place.announce(file)
  let unregister = () => {}
  try {
    if (registryDir !== undefined) unregister = registerServer(registryDir, file)
  } catch (error) {
    log.warn({ err: error }, `the server is not listed in ${registryDir}`)
  }
  return () => {
    withdraw()
    unregister()
  }
}

function startUpkeep({ deps, snapshots, deliveries, log }: ServerParts): Upkeep {
  const upkeep = new Upkeep(deps, (error, what) => log.error({ err: error }, what))
  snapshots.include(deliveries)
  snapshots.include(upkeep)
  upkeep.start()
  return upkeep
}

/** Ends calls, then deliveries and background work, then the store that they write. */
async function stop({ app, deps, deliveries }: ServerParts, upkeep: Upkeep, closeMsMax: number): Promise<void> {
  upkeep.release()
  deps.requestLog.close()
  deps.activity.close()
  deps.faults.suspend()
  const overdue = setTimeout(() => {
    void deps.faults.end()
    app.server.closeAllConnections()
  }, closeMsMax)
  app.server.closeIdleConnections()
  await Promise.all([app.close(), deliveries.stop(closeMsMax)])
  clearTimeout(overdue)
  // app.close() does not wait for a delayed call whose client has disconnected: end the call before the store closes.
  await deps.faults.end()
  await upkeep.finish()
  await deps.store.close()
}
