import { createHash } from 'node:crypto'
import { afterAll } from 'vitest'
import { newId, type RandomBytes } from '../../../src/domain/ids.js'
import { hashToken, makeToken } from '../../../src/domain/tokens.js'
import { Inspector } from '../../../src/inspector/inspector.js'
import type { ServerSession } from '../../../src/secure/server/session.js'
import { ownAccountKeys } from '../../../src/server/account-keys.js'
import { type App, type AppEvents, buildApp } from '../../../src/server/app.js'
import { createDeps } from '../../../src/server/assemble.js'
import { TestClock } from '../../../src/server/clock.js'
import type { Sender } from '../../../src/server/delivery/sender.js'
import type { Deps } from '../../../src/server/deps.js'
import { ClientAddresses, createLimits } from '../../../src/server/limits.js'
import { createMetrics, type Metrics } from '../../../src/server/observe/metrics.js'
import { RequestLog } from '../../../src/server/observe/request-log.js'
import { Snapshots } from '../../../src/server/snapshots.js'
import { keyFileInMemory, SecureKeys } from '../../../src/server/transport/keys.js'
import { sessionSealing } from '../../../src/server/transport/shared-keys.js'
import { memorySessions } from '../../../src/store/sessions.js'
import { sharedSessions } from '../../../src/store/shared-sessions.js'
import { openTestStore } from '../store/engines.js'
import { injectInto, type Send } from './client.js'

/** Time at which the clock of every test server starts: 2027-03-01T12:00:00.000Z. */
export const START_MS = Date.UTC(2027, 2, 1, 12)

export const DAY_MS = 86_400_000

/** A deterministic source of random bytes: equal seeds give equal bytes. */
export function seededRandom(seed: string): RandomBytes {
  let drawn = 0
  return (size) => {
    const blocks: Buffer[] = []
    for (let have = 0; have < size; have += 32) {
      blocks.push(createHash('sha256').update(`${seed} ${drawn++}`).digest())
    }
    return new Uint8Array(Buffer.concat(blocks).subarray(0, size))
  }
}

const bytesOf = (text: string): Uint8Array => createHash('sha256').update(text).digest()

export const testKey = { id: 'key_test', derive: bytesOf('derive'), index: bytesOf('index') }
export const accountKey = bytesOf('account')
export const operatorKey = makeToken('opk_', seededRandom('operator'))

export interface TestApp {
  readonly app: App
  readonly deps: Deps
  readonly metrics: Metrics
  /** The clock of the server, which only the test advances. */
  readonly clock: TestClock
  readonly send: Send
  readonly operatorKey: string
  readonly errors: unknown[]
  close(): Promise<void>
}

/** Sources of a `Faults` without a server. */
export const testFaultSources = { newId: () => 'flt_1', now: () => START_MS, random: seededRandom('faults') }

/** Snapshots whose reset and restore change nothing, because most tests of a file share one server. */
class HarmlessSnapshots extends Snapshots {
  override async reset(): Promise<void> {}
  override async restore(name: string) {
    return (await this.list()).find((it) => it.name === name) ?? 'missing'
  }
}

/** Sends nothing: every endpoint responds 200. */
const offlineSender: Sender = {
  send: async () => ({ statusCode: 200, error: null, durationMs: 1, ipAddress: null, response: null }),
  close: async () => {},
}

let onSharedStore = 0

/** The page of a server without a socket, whose requests have the Host of light-my-request. */
export function testInspector(now: () => number = () => START_MS): Inspector {
  const features = {
    source: 'server',
    test_clock: true,
    views: [],
    started_at: new Date(START_MS).toISOString(),
  } as const
  const inspector = new Inspector({ random: seededRandom('page'), now, sessions: { key: 'key' }, features })
  inspector.listen('http://localhost:80')
  return inspector
}

export function testDeps(overrides: Partial<Deps> = {}): Deps & { readonly clock: TestClock } {
  const clock = new TestClock({ now: () => START_MS })
  // Two servers on one store need different seeds, or they would create the same ids.
  const random = seededRandom(overrides.store === undefined ? 'server' : `server ${++onSharedStore}`)
  const store = overrides.store ?? openTestStore()
  const ring = { current: testKey, all: [testKey] }
  const deps = createDeps({
    store,
    clock,
    random,
    newId: (prefix) => newId(prefix, clock.now(), random),
    requestLog: new RequestLog(START_MS),
    keys: ring,
    accounts: ownAccountKeys(accountKey),
    operatorKeyHash: hashToken(operatorKey),
    inspector: testInspector(),
    limits: createLimits('off'),
    addresses: new ClientAddresses(),
    webhooks: {
      loopbackPorts: new Set<number>(),
      egressIps: [],
      lends: true,
      lookup: async () => ['93.184.215.14'],
    },
    sender: offlineSender,
    secure: {
      enabled: true,
      required: false,
      brand: 'platform',
      allowedOrigins: ['*'],
      keys: new SecureKeys(keyFileInMemory(), seededRandom('secure keys'), START_MS),
      sessions:
        store.name === 'postgres'
          ? sharedSessions(store, sessionSealing(ring, seededRandom('sealing')))
          : memorySessions<ServerSession>(),
    },
    stateAccess: { isAllowed: true, isShared: false },
    isLoopback: true,
    autoApprove: false,
    instanceId: 'instance',
    ...overrides,
  })
  return { ...deps, snapshots: overrides.snapshots ?? new HarmlessSnapshots(deps) } as Deps & {
    readonly clock: TestClock
  }
}

/** A complete server in this process, without a socket, with a fixed clock, deterministic ids and keys. */
export function testApp(overrides: Partial<Deps> = {}, events: Partial<AppEvents> = {}): TestApp {
  const deps = testDeps(overrides)
  const errors: unknown[] = []
  const metrics = createMetrics(deps)
  const app = buildApp(deps, metrics, {
    onRequestDone: () => {},
    onError: (_requestId, error) => errors.push(error),
    ...events,
  })
  const close = async () => {
    deps.requestLog.close()
    deps.activity.close()
    await app.close()
    await deps.sender.close(0)
    if (overrides.store === undefined) await deps.store.close()
  }
  return {
    app,
    deps,
    metrics,
    clock: deps.clock,
    send: injectInto(app),
    operatorKey,
    errors,
    close,
  }
}

/** The testApp() of all tests of a file, which ends after them. */
export function sharedApp(): TestApp {
  const server = testApp()
  afterAll(() => server.close())
  return server
}

/** Reads an NDJSON stream of the operator API. */
export async function linesOf<Line>({ send, operatorKey }: Pick<TestApp, 'send' | 'operatorKey'>, path: string) {
  const { text } = await send({ method: 'GET', path, headers: { authorization: `Bearer ${operatorKey}` } })
  return text.split('\n').flatMap((it) => (it === '' ? [] : [JSON.parse(it) as Line]))
}
