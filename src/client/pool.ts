import Pool from 'undici/lib/dispatcher/pool.js'
import { codeOf } from '../files/error-code.js'
import { parseBaseUrl } from './base-url.js'
import { joinHeaders } from './http.js'
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
export function createPoolTransport(baseUrl: string, { connections = 32 }: PoolOptions = {}): PoolTransport {
  const { origin, prefix } = parseBaseUrl(baseUrl)
  // `watchLifetime` limits the whole call; undici would limit the response head and body separately.
  const pool = new Pool(origin, { connections, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 })
  return {
    send: async (request) => {
      throwIfAborted(request)
      return dispatch(pool, origin, prefix, request)
    },
    close: () => pool.close(),
  }
}

function dispatch(pool: Pool, origin: string, prefix: string, request: TransportRequest): Promise<TransportResponse> {
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
        path: prefix + request.path,
        method: method as 'GET',
        headers: sent,
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
          if (started) fail('lost', `The connection to ${origin} broke before the response was complete (${code})`)
          else fail('refused', `No connection to ${origin} (${code})`)
        },
      },
    )
  })
}
