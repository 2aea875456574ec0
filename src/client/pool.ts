import type { Dispatcher } from 'undici'
import Pool from 'undici/lib/dispatcher/pool.js'
import { codeOf } from '../files/error-code.js'
import { type BaseUrl, parseBaseUrl } from './base-url.js'
import { findProxy } from './find-proxy.js'
import { joinHeaders } from './http.js'
import { type Environment, type Proxy, routeThrough, withoutProxySecrets } from './proxy.js'
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
  readonly connections?: number
}

export interface PoolTransport {
  readonly send: Transport
  /** Closes the connections after the calls in flight have finished. */
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
  // `watchLifetime` limits the whole call; undici would limit the response head and body separately.
  const settings = { connections, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 }
  const open = async (): Promise<Connections> => {
    const proxy = await findProxy(base, env)
    if (proxy === undefined) return { proxy, peer: base.origin, pool: new Pool(base.origin, settings) }
    const { authorization, origin: uri } = proxy
    const pool = base.secure
      ? (await import('./tunnel.js')).tunnels(uri, authorization, settings)
      : new Pool(uri, settings)
    const route = routeThrough(proxy, base)
    return { proxy, peer: `${base.origin} through the proxy ${proxy.label}`, pool, route }
  }
  return {
    send: async (request) => {
      throwIfAborted(request)
      opened ??= open()
      const connections = await opened
      const response = await dispatch(connections, base, request)
      return connections.proxy === undefined ? response : withoutProxySecrets(response, connections.proxy)
    },
    close: async () => (await opened?.catch(() => undefined))?.pool.close(),
  }
}

interface Connections {
  readonly pool: Dispatcher
  readonly proxy: Proxy | undefined
  readonly route?: ReturnType<typeof routeThrough>
  /** The server, and its proxy, in messages. */
  readonly peer: string
}

function dispatch(
  { pool, peer, route }: Connections,
  { origin, prefix }: BaseUrl,
  request: TransportRequest,
): Promise<TransportResponse> {
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
        path: route?.options(prefix + request.path).path ?? prefix + request.path,
        method: method as 'GET',
        headers: { ...route?.headers, ...sent },
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
          if (route !== undefined && statusCode === 407) {
            started = false
            return fail('refused', `No connection to ${peer}, which responded with 407`)
          }
          status = statusCode
          headers = joinHeaders(received)
        },
        onResponseData: (_controller, chunk) => {
          bytes += chunk.byteLength
          if (bytes > maxResponseBytes) fail('lost', `The response is larger than ${maxResponseBytes} bytes`)
          else body.push(chunk)
        },
        onResponseEnd: () => {
          stop()
          resolve({ status, headers, body: Buffer.concat(body).toString('utf8') })
        },
        onResponseError: (_controller, error) => {
          const code = codeOf(error)
          if (started) fail('lost', `The connection to ${peer} broke before the response was complete (${code})`)
          else fail('refused', `No connection to ${peer} (${code})`)
        },
      },
    )
  })
}
