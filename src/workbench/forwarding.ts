import { Agent, type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { isIP } from 'node:net'
import { codeOf } from '../files/error-code.js'
import { finalResponse, isInvalidResponse } from './final-response.js'
import { pairsOf, withoutContentLength } from './header-pairs.js'

/** A received delivery to be sent to the application. */
export interface ForwardedDelivery {
  /** Header names and values in turn, as received. */
  readonly headers: readonly string[]
  readonly body: Buffer
}

/** The application's response, or the status that replaces it when forwarding fails. */
export interface AppResponse {
  /** HTTP status; null if the sender gets no response (`--respond timeout`). */
  readonly status: number | null
  /** Header names and values in turn. */
  readonly headers: readonly string[]
  readonly body: Buffer
  /** URL of the application that responded; null if no application is configured. */
  readonly to: string | null
  readonly failure: AppFailure | null
}

interface AppFailure {
  readonly reason:
    | 'app_unreachable'
    | 'app_timeout'
    | 'app_broke_off'
    | 'app_response_too_long'
    | 'app_response_invalid'
  /** Message for the user, with host and port of the application. */
  readonly message: string
}

/** Milliseconds that the application may take, below the 15 s of the platform so that the sender still gets a 504. */
const APP_TIMEOUT_MS = 14_000
const RESPONSE_BYTES_MAX = 1024 * 1024
/** Maximum connections to applications: more than the platform opens to the listener (its max_connections). */
const CONNECTIONS_MAX = 128
/** Close idle connections before common servers do, so that no delivery uses a connection that is being closed. */
const IDLE_MS = 1_000
const connections = { keepAlive: true, maxSockets: CONNECTIONS_MAX, timeout: IDLE_MS }

/** Hop-by-hop headers (RFC 9110, 7.6.1); the Connection header can name others. */
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
 * Removes hop-by-hop headers; the others keep their names, values and order.
 * @param host host of a remote application, which replaces Host because servers choose the site by it
 */
export function endToEnd(headers: readonly string[], host?: string): string[] {
  const pairs = pairsOf(headers)
  const named = pairs
    .filter(([name]) => name.toLowerCase() === 'connection')
    .flatMap(([, value]) => value.split(',').map((it) => it.trim().toLowerCase()))
  const isEndToEnd = (name: string) => !HOP_BY_HOP.has(name) && !named.includes(name)
  return pairs
    .filter(([name]) => isEndToEnd(name.toLowerCase()))
    .flatMap(([name, value]) => [name, host !== undefined && name.toLowerCase() === 'host' ? host : value])
}

const LOOPBACK = ['127.0.0.1', '::1']

/** Host name of a URL without a port, and without the brackets of an IPv6 address. */
const hostOf = (url: URL) => url.hostname.replace(/^\[(.*)\]$/, '$1')

/**
 * Sends deliveries to applications over keep-alive connections and returns redirects like other responses. It never
 * resends a delivery whose connection broke, because the application may have processed it; the sender decides.
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

  /** Makes one attempt within the time limit. For an application on this machine it tries both loopback addresses. */
  async send(to: URL, delivery: ForwardedDelivery): Promise<AppResponse> {
    const limit = new AbortController()
    const timer = setTimeout(() => limit.abort(), this.#timeoutMs)
    const host = hostOf(to)
    const isLocal = host === 'localhost' || LOOPBACK.includes(host)
    const addresses = isLocal ? [...(host === '::1' ? ['::1', '127.0.0.1'] : LOOPBACK)] : [host]
    try {
      for (const [at, address] of addresses.entries()) {
        try {
          return { ...(await this.#attempt(to, address, isLocal, delivery, limit.signal)), to: to.href, failure: null }
        } catch (error) {
          const cannotConnect = NOT_CONNECTED.has(codeOf(error, 'ERROR'))
          if (!limit.signal.aborted && cannotConnect && at + 1 < addresses.length) continue
          const failure: AppFailure = limit.signal.aborted
            ? { reason: 'app_timeout', message: `${to.host} did not respond within ${this.#timeoutMs / 1000} s.` }
            : failureOf(error, to, addresses)
          const status = failure.reason === 'app_timeout' ? 504 : 502
          return { status, headers: [], body: Buffer.alloc(0), to: to.href, failure }
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
    const outgoing = endToEnd(headers, isLocal ? undefined : to.host)
    const name = hostOf(to)
    const names = new Set(pairsOf(outgoing).map(([name]) => name.toLowerCase()))
    if (!names.has('content-length')) outgoing.push('Content-Length', String(body.length))
    if (!names.has('host')) outgoing.push('Host', to.host)
    const send = to.protocol === 'https:' ? httpsRequest : httpRequest
    const agent = this.#agents[to.protocol === 'https:' ? 'https:' : 'http:']
    // Process the close events of idle connections first, so that the agent does not reuse a closed one.
    await eventLoopTurn()
    const request = send({
      host: address,
      ...(to.port === '' ? {} : { port: to.port }),
      path: `${to.pathname}${to.search}`,
      method: 'POST',
      headers: outgoing,
      agent,
      signal,
      // Host name for TLS: the connection uses an IP address, but the certificate must match the name in the URL.
      servername: isIP(name) === 0 ? name : '',
    })
    request.end(body)
    const response = await finalResponse(request)
    const { statusCode: status = 502, rawHeaders } = response
    // The Content-Length of a 204 may differ from its body; the listener sets the real length.
    return { status, headers: withoutContentLength(endToEnd(rawHeaders)), body: await readResponse(request, response) }
  }
}

/** Resolves after a complete turn of the event loop, in which Node has processed all pending socket events. */
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
  `${to.host} broke the connection off before its response was complete (${code}).`

function invalidResponse(to: URL, code: string, error: unknown): string {
  const detail = code.startsWith('HPE_') ? code : (error as Error).message
  return `${to.host} sent no valid HTTP response (${detail}).`
}

class ResponseTooLong extends Error {}

/** Converts a connection error to a failure. @param addresses addresses tried, if none accepts connections */
function failureOf(error: unknown, to: URL, addresses: readonly string[]): AppFailure {
  if (error instanceof ResponseTooLong) {
    return { reason: 'app_response_too_long', message: `${to.host} responded with more than 1 MiB.` }
  }
  const code = codeOf(error, 'ERROR')
  if (isInvalidResponse(code)) return { reason: 'app_response_invalid', message: invalidResponse(to, code, error) }
  if (!NOT_CONNECTED.has(code)) return { reason: 'app_broke_off', message: brokenOff(to, code) }
  const port = to.port || (to.protocol === 'https:' ? '443' : '80')
  const tried = addresses.map((it) => (it.includes(':') ? `[${it}]:${port}` : `${it}:${port}`)).join(' and ')
  return { reason: 'app_unreachable', message: `Nothing accepts connections on ${tried} (${code}).` }
}

function readResponse(request: ClientRequest, response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  return new Promise((resolve, reject) => {
    // A 204 or 304 has no body, even if bytes follow the head.
    if (response.statusCode === 204 || response.statusCode === 304) resolve(Buffer.alloc(0))
    // The error of the request names the malformed part; the response would report only an abort.
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
