import { connect, type Socket } from 'node:net'
import type { AttemptReply, Connection, EndpointResponse, Post } from './connection.js'
import { AttemptLimit, type DeliveryError, deliveryError, refusedUrl, statusError } from './errors.js'
import { type CheckedUrl, checkUrl, createLookup, type Lookup, resolve, type UrlPolicy } from './guard.js'

export interface Delivery {
  readonly url: string
  readonly body: Uint8Array
  /** All headers except Host, Content-Length and Connection. */
  readonly headers: Readonly<Record<string, string>>
  /** Public addresses and CIDRs that the host may resolve to; an empty list allows any public address. */
  readonly allowedIps: readonly string[]
  /** True if a listener on this machine has the webhook: the server wrote the URL. */
  readonly isBorrowed?: boolean
}

/** Result of one attempt, which succeeded if `error` is null. */
export interface AttemptResult {
  /** Status of the final response, if any. */
  readonly statusCode: number | null
  readonly error: DeliveryError | null
  /** Whole milliseconds from the start of the look-up to the head of the response or to the failure. */
  readonly durationMs: number
  /** Address of the connection, or the first address tried; null if no address was allowed. */
  readonly ipAddress: string | null
  /** Headers and body of the final response, if any. */
  readonly response: EndpointResponse | null
}

export interface SenderOptions {
  /** DNS look-up of webhook hosts. Default: the name servers of the system. */
  readonly lookup?: Lookup
  /** Ports of `--dev-webhook-loopback`. */
  readonly loopbackPorts?: UrlPolicy['loopbackPorts']
  /** True if deliveries may go to listeners that borrow a webhook. */
  readonly lends?: boolean
  /** Time from the start of the look-up to the response head; default 15,000 (rules/webhooks.md#delivery-attempts). */
  readonly timeoutMs?: number
  /** Trusted certificate authorities, which replace Node's own. */
  readonly ca?: string
  /** Opens a TCP connection; default: node:net. The sender checks the peer address afterwards in any case. */
  readonly connectTcp?: (address: string, port: number) => Socket
}

export interface Sender {
  /** Makes one delivery attempt within the time limit. Rejects for an invalid header, and after close(). */
  send(delivery: Delivery): Promise<AttemptResult>
  /** Waits at most `graceMs` for running attempts, then ends these attempts and closes all connections. */
  close(graceMs?: number): Promise<void>
}

/** Maximum of addresses tried per attempt: a host name may have thousands. */
const maxAddressesTried = 4

/** Posts webhook deliveries without proxies or redirects, only to checked addresses (rules/webhooks.md#webhook-urls). */
export class WebhookSender implements Sender {
  readonly #lookup: Lookup
  readonly #loopbackPorts: UrlPolicy['loopbackPorts']
  readonly #lends: boolean
  readonly #timeoutMs: number
  readonly #ca: string | undefined
  readonly #connectTcp: (address: string, port: number) => Socket
  readonly #idle = new IdleConnections()
  readonly #running = new Map<AttemptLimit, Promise<unknown>>()
  #closed = false

  constructor(options: SenderOptions = {}) {
    this.#lookup = options.lookup ?? createLookup()
    this.#loopbackPorts = options.loopbackPorts
    this.#lends = options.lends ?? false
    this.#timeoutMs = options.timeoutMs ?? 15_000
    this.#ca = options.ca
    this.#connectTcp = options.connectTcp ?? ((host, port) => connect({ host, port, noDelay: true }))
  }

  async send(delivery: Delivery): Promise<AttemptResult> {
    if (this.#closed) throw new Error('the sender is closed')
    const limit = new AttemptLimit(this.#timeoutMs)
    const result = this.#attempt(delivery, limit)
    this.#running.set(limit, result)
    try {
      return await result
    } finally {
      limit.release()
      this.#running.delete(limit)
    }
  }

  async close(graceMs = this.#timeoutMs): Promise<void> {
    this.#closed = true
    const timer = setTimeout(() => {
      for (const limit of this.#running.keys()) limit.abort()
    }, graceMs)
    await Promise.allSettled(this.#running.values())
    clearTimeout(timer)
    await this.#idle.destroy()
  }

  async #attempt(delivery: Delivery, limit: AttemptLimit): Promise<AttemptResult> {
    const startedAt = performance.now()
    const failed = (error: DeliveryError, ipAddress: string | null = null): AttemptResult => ({
      statusCode: null,
      error,
      durationMs: Math.round(performance.now() - startedAt),
      ipAddress,
      response: null,
    })

    const { url, allowedIps } = delivery
    const checked = checkUrl(url, { allowedIps, loopbackPorts: this.#portsOf(delivery) })
    if (!checked.ok) return failed(refusedUrl(checked.reason))
    const resolved = await resolve(checked, (host) => limitedLookup(this.#lookup, host, limit))
    if (limit.reached !== null) return failed(deliveryError(limit.reached))
    if (!resolved.ok) return failed(deliveryError(addressErrors[resolved.reason]))

    const addresses = resolved.addresses.slice(0, maxAddressesTried)
    let first: AttemptResult | undefined
    for (const [index, address] of addresses.entries()) {
      // Spend at most half of the remaining time on connecting to an address that has alternatives.
      const isLast = index === addresses.length - 1
      const connectTimeoutMs = isLast ? null : (this.#timeoutMs - (performance.now() - startedAt)) / 2
      const exchange = await this.#post(delivery, checked, address, { limit, connectTimeoutMs })
      if (exchange.response !== null) {
        const { status, at, ...response } = exchange.response
        const durationMs = Math.round(at - startedAt)
        return { statusCode: status, error: statusError(status), durationMs, ipAddress: address, response }
      }
      const failure = failed(deliveryError(exchange.failure), address)
      // Try no second address if the delivery may have arrived at the first.
      if (limit.reached !== null || !exchange.unsent) return failure
      first ??= failure
    }
    if (first === undefined) throw new Error('a host that resolved has an address')
    return { ...first, durationMs: Math.round(performance.now() - startedAt) }
  }

  async #post(
    { body, headers }: Delivery,
    checked: CheckedUrl,
    address: string,
    limits: Pick<Post, 'limit' | 'connectTimeoutMs'>,
  ): Promise<AttemptReply> {
    // The address has just passed the look-up and allowed_ips of this delivery, and the pool finds connections by
    // address: a reused connection needs no second check.
    const { origin } = checked.url
    const key = `${origin} ${address}`
    const connection = this.#idle.take(key) ?? (await this.#newConnection(origin, address))
    try {
      return await connection.post({ checked, headers, body, ...limits })
    } finally {
      if (connection.reusable) this.#idle.add(key, connection)
      else void connection.destroy()
    }
  }

  /** Loads undici with the first connection, not with the server: it takes as long as the rest of the server. */
  async #newConnection(origin: string, address: string): Promise<Connection> {
    const { Connection } = await import('./connection.js')
    return new Connection(origin, address, { connectTcp: this.#connectTcp, ca: this.#ca })
  }

  /** The server wrote the URL of a borrowed webhook, so its port is the listener's. */
  #portsOf({ isBorrowed }: Delivery): UrlPolicy['loopbackPorts'] {
    return this.#lends && isBorrowed ? { has: () => true } : this.#loopbackPorts
  }
}

const addressErrors = {
  unresolved: 'lookup_failed',
  forbidden_address: 'address_forbidden',
  allowed_ips_excludes_host: 'address_not_allowed',
} as const

/** Rejects at the time limit even if the look-up ignores its signal. */
function limitedLookup(lookup: Lookup, host: string, limit: AttemptLimit): Promise<readonly string[]> {
  const looking = new AbortController()
  return new Promise((resolve, reject) => {
    const stop = () => {
      looking.abort()
      reject(new Error('the look-up took too long'))
    }
    limit.listen(stop)
    lookup(host, looking.signal)
      .then(resolve, reject)
      .finally(() => limit.unlisten(stop))
  })
}

/** Pool of idle connections by origin and address, without connections that have ended. */
export class IdleConnections {
  readonly #idle = new Map<string, Connection[]>()

  /** Takes the most recently used connection, so that unneeded connections reach their idle timeout. */
  take(key: string): Connection | undefined {
    const connections = this.#idle.get(key)
    const connection = connections?.pop()
    if (connections?.length === 0) this.#idle.delete(key)
    if (connection !== undefined) connection.onEnd = undefined
    return connection
  }

  add(key: string, connection: Connection): void {
    const connections = this.#idle.get(key)
    if (connections === undefined) this.#idle.set(key, [connection])
    else connections.push(connection)
    connection.onEnd = () => this.#drop(key, connection)
  }

  get size(): number {
    return [...this.#idle.values()].reduce((sum, connections) => sum + connections.length, 0)
  }

  async destroy(): Promise<void> {
    const connections = [...this.#idle.values()].flat()
    this.#idle.clear()
    await Promise.all(connections.map((connection) => connection.destroy()))
  }

  #drop(key: string, connection: Connection): void {
    const others = this.#idle.get(key)?.filter((it) => it !== connection) ?? []
    if (others.length > 0) this.#idle.set(key, others)
    else this.#idle.delete(key)
    void connection.destroy()
  }
}
