import Pool from 'undici/lib/dispatcher/pool.js'
import { codeOf } from '../files/error-code.js'
import { parseBaseUrl } from './base-url.js'
import { unopened } from './certificate.js'
import { findHop } from './find-proxy.js'
import { joinHeaders } from './http.js'
import type { Environment, Hop } from './proxy.js'
import {
  maxResponseBytes,
  type Transport,
  TransportError,
  type TransportErrorKind,
  type TransportRequest,
  type TransportResponse,
  throwIfAborted,
  watchLifetime,
} from './transport.js'

export interface PoolOptions {
  /** Maximum number of connections; default 32. */
  readonly connections?: number | undefined
}

export interface PoolTransport {
  readonly send: Transport
  /** Closes the connections after the calls in flight have finished. Later calls fail with `aborted`. */
  close(): Promise<void>
}

/**
 * Creates a transport that reuses connections with undici. Loading undici takes longer than a single call: import this
 * module only for many calls.
 * @throws TypeError for an invalid base URL.
 */
export function createPoolTransport(
  baseUrl: string,
  { connections = 32 }: PoolOptions = {},
  env?: Environment,
): PoolTransport {
  const base = parseBaseUrl(baseUrl)
  let opened: Promise<Connections> | undefined
  let closed: Promise<void> | undefined
  const open = async (): Promise<Connections> => {
    const hop = await findHop(base, env)
    const connect = hop.connect && { connect: (_: unknown, done: Connector) => void hop.connect?.(done) }
    // `watchLifetime` limits the whole call; undici would limit the response head and body separately.
    const settings = { connections, pipelining: 1, headersTimeout: 0, bodyTimeout: 0, ...connect }
    return { hop, pool: new Pool(hop.origin, settings as Pool.Options) }
  }
  return {
    send: async (request) => {
      throwIfAborted(request)
      if (closed !== undefined) {
        const message = 'The transport was closed: create another one with createPoolTransport'
        throw new TransportError('aborted', message, { maybeProcessed: false })
      }
      opened ??= open()
      return dispatch(await opened, request)
    },
    close: () => {
      const close = async () => (await opened?.catch(() => undefined))?.pool.close()
      closed ??= close()
      return closed
    },
  }
}

type Connector = Parameters<NonNullable<Hop['connect']>>[0]

interface Connections {
  readonly pool: Pool
  readonly hop: Hop
}

function dispatch({ pool, hop }: Connections, request: TransportRequest): Promise<TransportResponse> {
  const { origin, prefix, peer, hide = (text) => text } = hop
  return new Promise((resolve, reject) => {
    let started = false
    let abort: ((reason: Error) => void) | undefined
    let failure: TransportError | undefined
    let status = 0
    let headers: Record<string, string> = {}
    const body: Buffer[] = []
    let bytes = 0
    const fail = (kind: TransportErrorKind, message: string) => {
      failure ??= new TransportError(kind, message, { maybeProcessed: started })
      stop()
      abort?.(failure)
      reject(failure)
    }
    const stop = watchLifetime(request, fail)
    const { method, headers: sent, body: content } = request
    pool.dispatch(
      {
        origin,
        path: prefix + request.path,
        method: method as 'GET',
        headers: { ...hop.headers, ...sent },
        ...(content === undefined ? {} : { body: content }),
      },
      {
        // undici calls this before it writes the request to an open connection.
        onRequestStart: (controller) => {
          abort = (reason) => controller.abort(reason)
          if (failure === undefined) started = true
          else controller.abort(failure)
        },
        onResponseStart: (_controller, statusCode, received) => {
          if (hop.hide !== undefined && statusCode === 407) {
            started = false
            return fail('refused', `No connection to ${peer} (HTTP_407)`)
          }
          status = statusCode
          headers = joinHeaders(received, hide)
        },
        onResponseData: (_controller, chunk) => {
          bytes += chunk.byteLength
          if (bytes > maxResponseBytes) fail('lost', `The response is larger than ${maxResponseBytes} bytes`)
          else body.push(chunk)
        },
        onResponseEnd: () => {
          stop()
          resolve({ status, headers, body: hide(Buffer.concat(body).toString('utf8')) })
        },
        onResponseError: (_controller, error) => {
          const code = codeOf(error)
          if (started) fail('lost', `The connection to ${peer} broke before the response was complete (${code})`)
          else fail(...unopened(peer, code))
        },
      },
    )
  })
}
