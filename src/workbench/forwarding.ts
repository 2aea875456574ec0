import { Agent, type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { isIP } from 'node:net'
import { codeOf } from '../files/error-code.js'
import { finalResponse, isInvalidResponse } from './final-response.js'
import { pairsOf } from './header-pairs.js'

/** A delivery as it is sent to the application. */
export interface ForwardedDelivery {
  /** Alternating names and values, as received. */
  readonly headers: readonly string[]
  readonly body: Buffer
}

/** The response of the application, or the status that replaces it after a failure. */
export interface AppResponse {
  /** Null if the sender gets no response (`--respond timeout`). */
  readonly status: number | null
  /** Alternating names and values. */
  readonly headers: readonly string[]
  readonly body: Buffer
  /** URL of the application; null without one. */
  readonly to: string | null
  readonly failure: AppFailure | null
}

interface AppFailure {
  readonly reason: 'app_unreachable' | 'app_timeout' | 'app_broke_off' | 'app_answer_too_long' | 'app_answer_invalid'
  /** For display, with host and port. */
  readonly message: string
}

/** Below the 15 s of the platform, so that the sender still gets the 504. */
const APP_TIMEOUT_MS = 14_000
const RESPONSE_BYTES_MAX = 1024 * 1024
/** More than the platform's max_connections. */
const CONNECTIONS_MAX = 128
/** Shorter than the keep-alive of servers, so that no delivery uses a connection that the application just closes. */
const IDLE_MS = 1_000
const connections = { keepAlive: true, maxSockets: CONNECTIONS_MAX, timeout: IDLE_MS }

/** Hop-by-hop headers (RFC 9110, 7.6.1), besides those that Connection names. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
])

/**
 * Removes hop-by-hop headers; the others keep their names, values and order. Host is unchanged for an application on
 * this machine; a remote application gets its own host, because servers choose the site by it.
 */
export function endToEnd(headers: readonly string[], host?: string): string[] {
  const pairs = pairsOf(headers)
  const named = pairs
    .filter(([name]) => name.toLowerCase() === 'connection')
    .flatMap(([, value]) => value.split(',').map((it) => it.trim().toLowerCase()))
  const isKept = (name: string) => !HOP_BY_HOP.has(name) && !named.includes(name)
  return pairs
    .filter(([name]) => isKept(name.toLowerCase()))
    .flatMap(([name, value]) => [name, host !== undefined && name.toLowerCase() === 'host' ? host : value])
}

/** Removes Content-Length, which the listener sets from the body that it read: that of a 204 may differ. */
const withoutLength = (headers: readonly string[]) =>
  pairsOf(headers)
    .filter(([name]) => name.toLowerCase() !== 'content-length')
    .flat()

const LOOPBACK = ['127.0.0.1', '::1']

/** The host without a port, and without the brackets of an IPv6 address. */
const hostOf = (url: URL) => url.hostname.replace(/^\[(.*)\]$/, '$1')

/**
 * Sends deliveries to applications over keep-alive connections, without following redirects. It does not resend a
 * delivery whose connection broke, because the application may have processed it; the sender decides.
 */
export class Forwarder {
  readonly #timeoutMs: number
  readonly #agents = {
    'http:': new Agent(connections),
    'https:': new HttpsAgent(connections),
  }

  constructor(timeoutMs = APP_TIMEOUT_MS) {
    this.#timeoutMs = timeoutMs
  }

  /** One attempt within the time limit. Tries both loopback addresses for an application on this machine. */
  async send(to: URL, delivery: ForwardedDelivery): Promise<AppResponse> {
    const limit = new AbortController()
    const timer = setTimeout(() => limit.abort(), this.#timeoutMs)
    const failed = (status: number, reason: AppFailure['reason'], message: string): AppResponse => ({
      status,
      headers: [],
      body: Buffer.alloc(0),
      to: to.href,
      failure: { reason, message },
    })
    const host = hostOf(to)
    const isLocal = host === 'localhost' || LOOPBACK.includes(host)
    const addresses = isLocal ? [...(host === '::1' ? ['::1', '127.0.0.1'] : LOOPBACK)] : [host]
    const port = to.port || (to.protocol === 'https:' ? '443' : '80')
    try {
      for (const [at, address] of addresses.entries()) {
        try {
          return { ...(await this.#attempt(to, address, isLocal, delivery, limit.signal)), to: to.href, failure: null }
        } catch (error) {
          if (limit.signal.aborted)
            return failed(504, 'app_timeout', `${to.host} did not answer within ${this.#timeoutMs / 1000} s.`)
          if (error instanceof ResponseTooLong)
            return failed(502, 'app_answer_too_long', `${to.host} answered with more than 1 MiB.`)
          const code = codeOf(error, 'ERROR')
          if (isInvalidResponse(code)) return failed(502, 'app_answer_invalid', invalidResponse(to, code, error))
          if (!NOT_CONNECTED.has(code)) return failed(502, 'app_broke_off', brokenOff(to, code))
          if (at + 1 < addresses.length) continue
          const tried = addresses.map((it) => (it.includes(':') ? `[${it}]:${port}` : `${it}:${port}`)).join(' and ')
          return failed(502, 'app_unreachable', `Nothing accepts connections on ${tried} (${code}).`)
        }
      }
      throw new Error('no address')
    } finally {
      clearTimeout(timer)
    }
  }

  close(): void {
    this.#agents['http:'].destroy()
    this.#agents['https:'].destroy()
  }

  async #attempt(
    to: URL,
    address: string,
    isLocal: boolean,
    { headers, body }: ForwardedDelivery,
    signal: AbortSignal,
  ): Promise<{ status: number; headers: string[]; body: Buffer }> {
    const kept = endToEnd(headers, isLocal ? undefined : to.host)
    const name = hostOf(to)
    const names = new Set(pairsOf(kept).map(([name]) => name.toLowerCase()))
    if (!names.has('content-length')) kept.push('Content-Length', String(body.length))
    if (!names.has('host')) kept.push('Host', to.host)
    const send = to.protocol === 'https:' ? httpsRequest : httpRequest
    const agent = this.#agents[to.protocol === 'https:' ? 'https:' : 'http:']
    // First process the close events of idle connections whose application has just ended.
    await eventLoopTurn()
    const request = send({
      host: address,
      ...(to.port === '' ? {} : { port: to.port }),
      path: `${to.pathname}${to.search}`,
      method: 'POST',
      headers: kept,
      agent,
      signal,
      // The name that the certificate must have. Node derives it from the address otherwise; IP addresses send none.
      servername: isIP(name) === 0 ? name : '',
    })
    request.end(body)
    const response = await finalResponse(request)
    const { statusCode: status = 502, rawHeaders } = response
    return { status, headers: withoutLength(endToEnd(rawHeaders)), body: await readResponse(request, response) }
  }
}

/** A whole turn of the event loop, which processes socket events. */
const eventLoopTurn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))

const NOT_CONNECTED = new Set([
  'ECONNREFUSED',
  'EADDRNOTAVAIL',
  'ENETUNREACH',
  'EHOSTUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EAFNOSUPPORT',
  'ETIMEDOUT',
])

const brokenOff = (to: URL, code: string) =>
  `${to.host} broke the connection off before its answer was whole (${code}).`

function invalidResponse(to: URL, code: string, error: unknown): string {
  const detail = code.startsWith('HPE_') ? code : (error as Error).message
  return `${to.host} sent no valid HTTP response (${detail}).`
}

class ResponseTooLong extends Error {}

function readResponse(request: ClientRequest, response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  return new Promise((resolve, reject) => {
    // These statuses have no body, whatever follows the head.
    if (response.statusCode === 204 || response.statusCode === 304) resolve(Buffer.alloc(0))
    // Wait for the request's error, which names the malformed part; the response only reports that it was aborted.
    request.on('error', reject)
    response.on('error', reject)
    response.on('end', () => resolve(Buffer.concat(chunks)))
    response.on('data', (chunk: Buffer) => {
      size += chunk.length
      chunks.push(chunk)
      if (size > RESPONSE_BYTES_MAX) response.destroy(new ResponseTooLong())
    })
  })
}
