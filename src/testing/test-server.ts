import type { RequestListener } from 'node:http'
import { inject } from 'light-my-request'
import { joinHeaders } from '../client/http.js'
import { type Client, createClient } from '../client/index.js'
import { type Transport, TransportError, throwIfAborted, watchLifetime } from '../client/transport.js'
import type { CredentialKind } from '../contract/endpoint.js'
import type { Voucher } from '../contract/vouchers.js'
import type { InProcessOptions } from '../server/assemble.js'
import type { Clock } from '../server/clock.js'
import { startInProcess } from '../server/listen.js'
import type { ServerSnapshots } from '../server/options.js'
import { TestingError, wrongType } from './arguments.js'
import { fromCaller, fromCallers } from './caller-stack.js'
import { controlClock, controlFaults, controlHolds } from './controls.js'
import { Lifetime } from './lifetime.js'
import { readOptions } from './options.js'
import { Receiver } from './receiver.js'
import { Requests } from './requests.js'
import type { Snapshot, StartOptions, TestServer, VoucherFilter } from './types.js'
import { Waiting } from './waiting.js'

/** Lifetime of the account tokens that the client creates, one for each console call. */
const JWT_SECONDS = 60

/** Options for the tests of this project. */
export interface InternalOptions extends Pick<InProcessOptions, 'parts'> {
  /** A test clock on PostgreSQL; the public options refuse this. */
  readonly clock?: Clock
  readonly logTo?: { write(line: string): void }
}

export async function startTestServer(options: StartOptions, internal: InternalOptions = {}): Promise<TestServer> {
  const { requireSecure, seed, ...checked } = await readOptions(options)
  const running = await startInProcess({ ...checked, requireSecure, seed, ...internal })
  const { app, deps, baseUrl, operatorKey } = running
  const receiver = new Receiver(deps, seed)
  const received = new Requests(deps.activity)
  const holds = new Waiting()

  const lifetime = new Lifetime()
  const { requireOpen } = lifetime
  const close = async () => {
    // Let delayed calls respond now: their clients may no longer wait.
    deps.faults.suspend()
    received.close(lifetime.closedError())
    holds.fail(lifetime.closedError())
    await receiver.close(lifetime.closedError())
    await running.close()
  }

  const send = createInProcessTransport(app.respond, baseUrl === null ? undefined : new URL(baseUrl).host)
  const transport: TestServer['transport'] = async (request) => {
    requireOpen()
    return send(request)
  }
  const token = seed.applications?.flatMap((it) => it.tokens ?? [])[0]?.token ?? ''
  const credentials: Record<CredentialKind, () => string | undefined | Promise<string>> = {
    token: () => token || undefined,
    bot: () => seed.bots?.find((it) => it.token !== undefined)?.token,
    jwt: () => deps.accounts.sign?.(seed.account, deps.clock.now(), JWT_SECONDS),
    operator: () => operatorKey ?? undefined,
  }
  const address = () => {
    if (baseUrl !== null) return baseUrl
    throw new TestingError('NO_PORT', 'This server has no port: start it without listen: false')
  }
  const calls = createClient({
    baseUrl: baseUrl ?? 'http://127.0.0.1',
    transport,
    token: (kind) => credentials[kind](),
    // No retries (rules/server.md#servers-inside-a-test).
    retry: { tries: 1 },
    ...(requireSecure ? { secure: { mode: 'required' } } : {}),
  })
  // Only streams need a connection to the server.
  const connected =
    <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      requireOpen()
      address()
      return call(...args)
    }
  const stream: Client['stream'] = connected(calls.stream)
  const { requests: followed, ...platform } = calls.platform
  const operator: TestServer['operator'] = { ...platform, activity: connected(platform.activity) }
  const requests = connected(followed)
  const client = fromCallers<Client>({ ...calls, stream, platform: { ...operator, requests } })

  const snapshots = new Snapshots(deps.snapshots, receiver, lifetime)

  const server: TestServer = {
    get baseUrl() {
      requireOpen()
      return address()
    },
    client,
    operator,
    transport,
    token,
    operatorKey: operatorKey ?? '',
    seed,
    clock: controlClock(deps.clock, requireOpen),
    faults: controlFaults(deps.faults, requireOpen),
    hold: controlHolds(deps.faults, holds, requireOpen),
    get requests() {
      return received.list(requireOpen)
    },
    vouchers: (filter) => lifetime.whileOpen(() => listVouchers(operator, filter)),
    receive: (type, options) =>
      fromCaller(server.receive, () => lifetime.whileOpen(() => receiver.receive(type, options))),
    reset: () => lifetime.whileOpen(() => receiver.replace(() => deps.snapshots.reset())),
    snapshot: () => snapshots.save(),
    restore: (snapshot) => snapshots.restore(snapshot),
    close: () => lifetime.end(close),
    // On Node 20, Jest's globals lack this symbol; compilers of `await using` then use the registered one.
    [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]: () => server.close(),
  }
  // Not enumerable: otherwise copying the members of a server without a port would throw.
  if (baseUrl === null) Object.defineProperty(server, 'baseUrl', { enumerable: false })
  return server
}

/** The snapshots that a test takes of its server. */
class Snapshots {
  readonly #stored: ServerSnapshots
  readonly #receiver: Receiver
  readonly #lifetime: Lifetime
  readonly #held = new WeakMap<Snapshot, { readonly name: string; readonly state: ReturnType<Receiver['save']> }>()
  #saved = 0

  constructor(stored: ServerSnapshots, receiver: Receiver, lifetime: Lifetime) {
    this.#stored = stored
    this.#receiver = receiver
    this.#lifetime = lifetime
  }

  async save(): Promise<Snapshot> {
    const { name, clock } = await this.#lifetime.whileOpen(() => this.#stored.save(`test-${++this.#saved}`))
    const snapshot: Snapshot = {
      time: new Date(clock),
      release: async () => {
        if (this.#held.delete(snapshot)) await this.#lifetime.whileOpen(() => this.#stored.remove(name))
      },
    }
    // Copy the receiver now: all deliveries that the store has as delivered have arrived.
    this.#held.set(snapshot, { name, state: this.#receiver.save() })
    return snapshot
  }

  async restore(snapshot: Snapshot): Promise<void> {
    this.#lifetime.requireOpen()
    const held = this.#held.get(snapshot)
    if (held === undefined) throw wrongType('snapshot', 'a snapshot of this server', snapshot)
    const restore = async () => void (await this.#stored.restore(held.name))
    await this.#lifetime.whileOpen(() => this.#receiver.replace(restore, held.state))
  }
}

/** Reads all pages. */
async function listVouchers({ vouchers }: TestServer['operator'], filter: VoucherFilter = {}): Promise<Voucher[]> {
  const all: Voucher[] = []
  for (let page = 1, pages = 1; page <= pages; page++) {
    const listed = await vouchers({ ...filter, page, limit: 100 })
    if (!listed.ok) throw new TypeError(`filter was refused: ${listed.message} ${JSON.stringify(listed.details)}`)
    all.push(...listed.data.items)
    pages = listed.data.pagination.pages
  }
  return all
}

/**
 * Creates a transport that passes requests to a server in this process, without a socket.
 * @param host header Host of the requests, which a server with a port checks
 */
export function createInProcessTransport(respond: RequestListener, host = 'localhost'): Transport {
  return async (request) => {
    throwIfAborted(request)
    const { method, path: url, headers, body } = request
    let stop = () => {}
    let disconnect = () => {}
    const ended = new Promise<never>((_resolve, reject) => {
      stop = watchLifetime(request, (kind, message) => {
        disconnect()
        reject(new TransportError(kind, message))
      })
    })
    let isLost = false
    const handle: RequestListener = (incoming, outgoing) => {
      disconnect = () => outgoing.destroy()
      // Keep the written bytes: light-my-request returns them after a destroyed response, a socket would lose them.
      outgoing.prependOnceListener('finish', () => {
        isLost = outgoing.destroyed
      })
      respond(incoming, outgoing)
    }
    const options = { method: method as 'GET', url, headers: { host, ...headers }, validate: false }
    const response = inject(handle, body === undefined ? options : { ...options, payload: body }).catch(
      (cause: unknown) => {
        throw lost(cause)
      },
    )
    try {
      const { statusCode: status, headers: received, rawPayload: bytes } = await Promise.race([response, ended])
      if (isLost) throw lost()
      return { status, headers: joinHeaders(textsOf(received)), body: bytes.toString('utf8'), bytes }
    } finally {
      stop()
    }
  }
}

const lost = (cause?: unknown) =>
  new TransportError('lost', 'The connection broke before a response arrived', { cause })

function textsOf(headers: Readonly<Record<string, number | string | string[] | undefined>>) {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, typeof value === 'number' ? String(value) : value]),
  )
}
