import { connect as connectPlain } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { parseBaseUrl } from '../client/base-url.js'
import { findProxy } from '../client/find-proxy.js'
import { openExchange } from '../client/http.js'
import { readRetryAfter } from '../client/retry.js'
import { isTransportError, type Transport, type TransportResponse } from '../client/transport.js'
import { asMembers, type Members, parseJson } from '../values/json.js'
import { Paths } from './paths.js'
import { NotApplicable, NotReachable } from './result.js'

export interface WireRequest {
  readonly method: string
  /** Path and query, without the origin. */
  readonly path: string
  /** Headers by lower-case name. A list is sent as several headers of that name, over the plain transport. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body?: string
  readonly timeoutMs?: number
  /** True for calls that are never encrypted: those that open an encrypted session. */
  readonly plain?: true
}

export interface WireResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  /** Parsed body; undefined if the body is not JSON. */
  readonly json: unknown
}

export interface WireExchange {
  /** The probe that made the call. */
  readonly probe: string
  readonly request: WireRequest
  readonly response: WireResponse
}

interface RawOptions {
  /** Maximum silence of the platform in ms. */
  readonly ms?: number
  /** True to close the own side of the connection after the bytes. */
  readonly ends?: boolean
}

/** Bytes that the platform sent over a connection, and whether the platform closed it. */
export interface RawReply {
  readonly text: string
  readonly isClosed: boolean
}

interface WireOptions {
  readonly baseUrl: string
  readonly plain: Transport
  /** The encrypted transport, if the user chose it for all calls. */
  readonly encrypted?: Transport | undefined
  /** Maximum calls per second. */
  readonly rate: number
  /** Maximum wait for a rate limit window, in ms. */
  readonly maxWaitMs: number
  /** Ms for each call; default 30 s. */
  readonly timeoutMs?: number | undefined
  readonly signal: AbortSignal
  /** Resolves after some ms, or earlier if the run is interrupted. */
  pause(ms: number): Promise<void>
  /** Ms of a clock that only moves forward. */
  now(): number
  /** Called after each call, with request and response. */
  observe?(exchange: WireExchange): void
  readonly paths?: Paths | undefined
}

/** Minimum ms to wait for a rate limit window, even with a shorter --max-wait: a minute is usual. */
const WINDOW_MS = 60_000

const CALL_MS = 30_000

const isBusy = ({ status }: WireResponse) => status === 429 || status === 503

/** Sends the calls of all probes, no faster than the user and the platform allow. */
export class Wire {
  readonly #options: WireOptions
  readonly paths: Paths
  #nextAt = 0
  /** The running probe, and its last request. */
  probe = 'start'
  last: WireRequest | undefined
  /** True during the final clean-up, which continues after an interruption. */
  isCleaningUp = false

  constructor(options: WireOptions) {
    this.#options = options
    this.paths = options.paths ?? new Paths()
  }

  /**
   * Sends a request. After a 429 or 503, sends it once more when the platform permits.
   * @throws NotReachable without a complete response of the platform, or if the second one is a 429 or 503 too
   */
  async send(request: WireRequest): Promise<WireResponse> {
    const first = await this.#sendOnce(request)
    // A gateway sends these two if the platform does not respond; the call may have had its effect.
    if (first.status === 502 || first.status === 504) throw new NotReachable(`Status ${first.status}.`)
    if (!isBusy(first)) return first
    const { maxWaitMs, pause } = this.#options
    const waitMs = readRetryAfter(first.headers, Date.now) ?? 1_000
    const isWindow = first.status === 429 && !this.isCleaningUp
    if (waitMs > (isWindow ? Math.max(maxWaitMs, WINDOW_MS) : maxWaitMs)) {
      throw new NotReachable(`Status ${first.status}, to be repeated after ${Math.ceil(waitMs / 1000)} s.`)
    }
    await pause(waitMs)
    const second = await this.#sendOnce(request)
    if (isBusy(second)) throw new NotReachable(`Status ${second.status}, twice.`)
    return second
  }

  /** True if calls are encrypted, except those with `plain`. */
  get isEncrypted(): boolean {
    return this.#options.encrypted !== undefined
  }

  /** Formats a request as HTTP/1.1 bytes for `raw`. */
  bytesOf({ method, path, headers, body = '' }: WireRequest): string {
    const { origin, prefix } = parseBaseUrl(this.#options.baseUrl)
    const pairs = Object.entries({ host: new URL(origin).host, ...headers })
    const lines = pairs.flatMap(([name, value]) => [value].flat().map((it) => `${name}: ${it}\r\n`))
    return `${method} ${prefix}${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
  }

  /**
   * Sends bytes (latin1) over a separate connection, until the platform closes it or is silent for `ms`.
   * @throws NotReachable without a connection
   */
  async raw(bytes: string, { ms = 5_000, ends = false }: RawOptions = {}): Promise<RawReply> {
    this.#requirePlain('sends its own bytes')
    await this.#turn()
    const base = parseBaseUrl(this.#options.baseUrl)
    const { hostname: host, port, secure } = base
    if ((await findProxy(base)) !== undefined)
      throw new NotApplicable('This probe sends its own bytes, which a proxy does not forward unchanged.')
    const socket = secure ? connectTls({ host, port, servername: host }) : connectPlain(port, host)
    this.last = undefined
    return new Promise((resolve, reject) => {
      let text = ''
      let isConnected = false
      const giveUp = () => {
        resolve({ text, isClosed: false })
        socket.destroy()
      }
      socket.setTimeout(ms, giveUp)
      // Limit the whole call: a platform that sends a byte now and then is never silent.
      setTimeout(giveUp, this.#options.timeoutMs ?? CALL_MS).unref()
      socket.setEncoding('latin1')
      socket.once(secure ? 'secureConnect' : 'connect', () => {
        isConnected = true
      })
      socket.on('data', (more: string) => {
        text += more
      })
      socket.on('close', () => resolve({ text, isClosed: true }))
      socket.on('error', () => {
        if (!isConnected) reject(new NotReachable('No connection to the platform.'))
      })
      if (ends) socket.end(bytes, 'latin1')
      else socket.write(bytes, 'latin1')
    })
  }

  async #sendOnce(request: WireRequest): Promise<WireResponse> {
    await this.#turn()
    this.last = request
    const response = await this.#exchange(request)
    this.#heed(response)
    const { status, headers, body } = response
    const received = { status, headers, text: body, json: parseJson(body) }
    this.paths.note(request, received)
    this.#options.observe?.({ probe: this.probe, request, response: received })
    return received
  }

  async #exchange(request: WireRequest): Promise<TransportResponse> {
    const { plain, encrypted, baseUrl, timeoutMs: limitMs = CALL_MS } = this.#options
    const { method, path, headers, body, timeoutMs = limitMs } = request
    const signal = this.isCleaningUp ? {} : { signal: this.#options.signal }
    const rest = { method, path, timeoutMs, ...signal, ...(body === undefined ? {} : { body }) }
    try {
      if (!Object.values(headers).every((it) => typeof it === 'string')) {
        if (!request.plain) this.#requirePlain('sends a header twice')
        const exchange = await openExchange(parseBaseUrl(baseUrl), { ...rest, headers })
        const body = (await exchange.readBytes()).toString('utf8')
        return { status: exchange.status, headers: exchange.headers, body }
      }
      const transport = request.plain ? plain : (encrypted ?? plain)
      return await transport({ ...rest, headers: headers as Readonly<Record<string, string>> })
    } catch (error) {
      if (!isTransportError(error)) throw error
      if (error.secure?.phase === 'local') throw new NotApplicable('The encrypted transport cannot carry this request.')
      throw new NotReachable(`${error.message}.`, { cause: error })
    }
  }

  #requirePlain(what: string): void {
    if (!this.isEncrypted) return
    throw new NotApplicable(`This probe ${what}, which the encrypted transport cannot carry.`)
  }

  /** Waits for the turn of the next call. @throws NotReachable if the run is interrupted */
  async #turn(): Promise<void> {
    const { now, pause, rate, signal, maxWaitMs } = this.#options
    const at = Math.max(now(), this.#nextAt)
    const waitMs = at - now()
    if (waitMs > Math.max(maxWaitMs, WINDOW_MS)) {
      throw new NotReachable(`The platform announces that no call is left for ${Math.ceil(waitMs / 1000)} s.`)
    }
    this.#nextAt = at + 1000 / rate
    if (at > now()) await pause(at - now())
    if (signal.aborted && !this.isCleaningUp) throw new NotReachable('The run was interrupted.')
  }

  /** Delays the next call to the next window if the platform announces that this window has no calls left. */
  #heed({ headers }: TransportResponse): void {
    const [, left, seconds] = /;\s*r=(\d+)\s*;\s*t=(\d+)/.exec(headers.ratelimit ?? '') ?? []
    if (left !== '0') return
    this.#nextAt = Math.max(this.#nextAt, this.#options.now() + Number(seconds) * 1000)
  }
}

/** Returns the members of an object; none for any other value. */
export const membersOrNone = (json: unknown): Members => asMembers(json) ?? {}
