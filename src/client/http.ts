import type { IncomingMessage } from 'node:http'
import { codeOf } from '../files/error-code.js'
import { type BaseUrl, parseBaseUrl } from './base-url.js'
import { throwIfAborted, watchLifetime } from './lifetime.js'
import type { Transport, TransportErrorKind, TransportRequest } from './transport.js'
import { maxResponseBytes, TransportError } from './transport.js'

/**
 * One-shot calls: a connection each, closed after the answer. For many calls see pool.ts.
 * @throws TypeError for a base URL that is none.
 */
export function createHttpTransport(baseUrl: string): Transport {
  const base = parseBaseUrl(baseUrl)
  return async (request) => {
    const { status, headers, chunks } = await openExchange(base, request)
    const bytes = await readBytes(chunks)
    return { status, headers, body: bytes.toString('utf8'), bytes }
  }
}

/** The whole body. @throws TransportError when it breaks off or exceeds 64 MiB. */
export async function readBytes(chunks: OpenResponse['chunks']): Promise<Buffer> {
  const read: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.byteLength
    if (bytes > maxResponseBytes)
      throw new TransportError('lost', `The answer is larger than ${maxResponseBytes} bytes`)
    read.push(chunk)
  }
  return Buffer.concat(read)
}

/** An answer whose head has arrived. */
interface OpenResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The body as it arrives; read it to the end, or break off. @throws TransportError when it breaks off by itself. */
  readonly chunks: AsyncIterable<Uint8Array>
}

/**
 * One request over a connection of its own, by node:http (its start costs a fifth of undici's, which matters to a
 * command that makes one call). Redirects are answers like any other.
 * @throws TransportError when no head of an answer arrived.
 */
export async function openExchange(base: BaseUrl, request: TransportRequest): Promise<OpenResponse> {
  const { request: send } = base.secure ? await import('node:https') : await import('node:http')
  throwIfAborted(request)
  const { body } = request
  // node:http leaves it out of a DELETE with a body.
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  return new Promise((resolve, reject) => {
    let connected = false
    let answered = false
    let failure: TransportError | undefined
    const outgoing = send({
      method: request.method,
      host: base.hostname,
      port: base.port,
      path: base.prefix + request.path,
      headers: { ...request.headers, ...length },
      agent: false,
    })
    const fail = (kind: TransportErrorKind, message: string) => {
      failure ??= new TransportError(kind, message, { maybeProcessed: connected })
      stop()
      outgoing.destroy()
      reject(failure)
    }
    const stop = watchLifetime(request, fail)
    // Nothing of a request is sent before the connection stands and, with TLS, the server is trusted.
    outgoing.once('socket', (socket) =>
      socket.once(base.secure ? 'secureConnect' : 'connect', () => {
        connected = true
      }),
    )
    outgoing.on('error', (error) => {
      // A server may answer and close before it has read the whole body: then the answer decides, not the broken pipe.
      if (answered) return
      if (connected) fail('lost', `The connection to ${base.origin} broke before an answer arrived (${codeOf(error)})`)
      else fail('refused', `No connection to ${base.origin} (${codeOf(error)})`)
    })
    // Also without an error, as after an answer that switches protocols.
    outgoing.on('close', () => {
      if (!answered) fail('lost', `The connection to ${base.origin} closed before an answer arrived`)
    })
    outgoing.on('response', (incoming) => {
      answered = true
      // Kept even while nobody reads the body: an error without a listener would end the process.
      incoming.on('error', () => {})
      resolve({
        status: incoming.statusCode ?? 0,
        headers: joinHeaders(incoming.headers),
        chunks: readChunks(incoming, base.origin, stop, () => failure),
      })
    })
    outgoing.end(body)
  })
}

async function* readChunks(
  incoming: IncomingMessage,
  origin: string,
  stop: () => void,
  failureOf: () => TransportError | undefined,
): AsyncGenerator<Uint8Array> {
  try {
    yield* incoming as AsyncIterable<Uint8Array>
  } catch (error) {
    throw failureOf() ?? new TransportError('lost', `The answer of ${origin} broke off (${codeOf(error)})`)
  } finally {
    stop()
  }
  if (!incoming.complete) throw failureOf() ?? new TransportError('lost', `The answer of ${origin} broke off`)
}

export function joinHeaders(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): Record<string, string> {
  const joined: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) joined[name] = typeof value === 'string' ? value : value.join(', ')
  }
  return joined
}
