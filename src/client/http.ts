import type { IncomingMessage } from 'node:http'
import { codeOf } from '../files/error-code.js'
import { type BaseUrl, parseBaseUrl } from './base-url.js'
import { unopened } from './certificate.js'
import { findHop } from './find-proxy.js'
import type { Environment } from './proxy.js'
import {
  maxResponseBytes,
  type Transport,
  TransportError,
  type TransportErrorKind,
  type TransportRequest,
  throwIfAborted,
  watchLifetime,
} from './transport.js'

/**
 * Creates a transport that opens a connection for each call and closes it after the response. For many calls, see
 * pool.ts.
 * @throws TypeError for an invalid base URL.
 */
export function createHttpTransport(baseUrl: string, env?: Environment): Transport {
  const base = parseBaseUrl(baseUrl)
  return async (request) => {
    const { status, headers, readBytes, hide } = await openExchange(base, request, env)
    const bytes = await readBytes()
    const text = bytes.toString('utf8')
    const body = hide?.(text) ?? text
    return { status, headers, body, ...(body === text ? { bytes } : {}) }
  }
}

/** A response whose status and headers have arrived, but not its body. */
interface OpenResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Removes the credentials of the proxy from the body; absent without a proxy. */
  readonly hide?: (text: string) => string
  /** Body. Read all chunks or leave the loop; both end the call. @throws TransportError if the connection breaks */
  readChunks(): AsyncIterable<Uint8Array>
  /** Reads the whole body. @throws TransportError if the connection breaks or the body exceeds 64 MiB */
  readBytes(): Promise<Buffer>
}

/** A request that may have several headers with the same name. */
type HttpRequest = Omit<TransportRequest, 'headers'> & {
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  /** True if `timeoutMs` limits only the wait for the response head, not the body. */
  readonly endless?: boolean
}

/**
 * Sends one request over its own connection with node:http, which loads five times as fast as undici, for commands that
 * make one call. It does not follow redirects. Through a proxy, https goes in a tunnel (CONNECT).
 * @throws TransportError if no response head arrives
 */
export async function openExchange(base: BaseUrl, request: HttpRequest, env?: Environment): Promise<OpenResponse> {
  const hop = await findHop(base, env)
  const { peer, connect, hide } = hop
  const { request: send } = hop.secure ? await import('node:https') : await import('node:http')
  throwIfAborted(request)
  const { body } = request
  // node:http omits Content-Length for a DELETE with a body.
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  return new Promise((resolve, reject) => {
    let connected = false
    let hasResponse = false
    let failure: TransportError | undefined
    let closeTunnel = () => {}
    const createConnection =
      connect && ((_: unknown, done: Parameters<typeof connect>[0]) => void (closeTunnel = connect(done)))
    const outgoing = send({
      method: request.method,
      host: hop.hostname,
      port: hop.port,
      defaultPort: hop.secure ? 443 : 80,
      path: hop.prefix + request.path,
      headers: { ...hop.headers, ...request.headers, ...length },
      ...(createConnection === undefined ? { agent: false } : { createConnection }),
    })
    const fail = (kind: TransportErrorKind, message: string) => {
      failure ??= new TransportError(kind, message, { maybeProcessed: connected })
      stop()
      closeTunnel()
      outgoing.destroy()
      reject(failure)
    }
    let stop = watchLifetime(request, fail)
    const lost: Lost = (code) => {
      const why = code === undefined ? 'broke off' : `broke off (${code})`
      return failure ?? new TransportError('lost', `The response of ${peer} ${why}`)
    }
    // Node sends no byte of the request before the socket is connected and, with TLS, the certificate is verified.
    const onConnected = () => {
      connected = true
    }
    outgoing.once('socket', (socket) =>
      connect === undefined ? socket.once(hop.secure ? 'secureConnect' : 'connect', onConnected) : onConnected(),
    )
    outgoing.on('error', (error) => {
      // A server may respond and close the connection before it has read the whole body: ignore the broken pipe then.
      if (hasResponse) return
      if (connected) fail('lost', `The connection to ${peer} broke before a response arrived (${codeOf(error)})`)
      else fail(...unopened(peer, codeOf(error)))
    })
    // After a 101 response, node:http closes the request without an error event.
    outgoing.on('close', () => {
      if (!hasResponse) fail('lost', `The connection to ${peer} closed before a response arrived`)
    })
    outgoing.on('response', (incoming) => {
      if (hide !== undefined && incoming.statusCode === 407) {
        connected = false
        return fail('refused', `No connection to ${peer} (HTTP_407)`)
      }
      hasResponse = true
      if (request.endless) {
        stop()
        stop = watchLifetime({ ...request, timeoutMs: undefined }, fail)
      }
      // Without this listener, an error before anyone reads the body would end the process.
      incoming.on('error', () => {})
      resolve({
        status: incoming.statusCode ?? 0,
        headers: joinHeaders(incoming.headers, hide),
        readChunks: () => readChunks(incoming, lost, stop),
        readBytes: () => readBytes(incoming, lost, stop),
        ...(hide === undefined ? {} : { hide }),
      })
    })
    outgoing.end(body)
  })
}

/** Creates the error of an exchange whose response broke off. @param code error code of the socket */
type Lost = (code?: string) => TransportError

async function* readChunks(incoming: IncomingMessage, lost: Lost, stop: () => void): AsyncGenerator<Uint8Array> {
  try {
    yield* incoming as AsyncIterable<Uint8Array>
  } catch (error) {
    throw lost(codeOf(error))
  } finally {
    stop()
  }
  if (!incoming.complete) throw lost()
}

/** Reads with events, because creating the iterator of the stream takes half a millisecond. */
function readBytes(incoming: IncomingMessage, lost: Lost, stop: () => void): Promise<Buffer> {
  return new Promise<Buffer>((resolve, reject) => {
    const read: Buffer[] = []
    let bytes = 0
    incoming.on('data', (chunk: Buffer) => {
      bytes += chunk.byteLength
      read.push(chunk)
      if (bytes <= maxResponseBytes) return
      reject(new TransportError('lost', `The response is larger than ${maxResponseBytes} bytes`))
      incoming.destroy()
    })
    incoming.on('error', (error) => reject(lost(codeOf(error))))
    incoming.on('end', () => (incoming.complete ? resolve(Buffer.concat(read)) : reject(lost())))
    incoming.on('close', () => {
      if (!incoming.readableEnded) reject(lost())
    })
  }).finally(stop)
}

export function joinHeaders(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  hide = (text: string) => text,
): Record<string, string> {
  const present = Object.entries(headers).filter(([, value]) => value !== undefined)
  return Object.fromEntries(present.map(([name, value]) => [name, hide([value].flat().join(', '))]))
}
