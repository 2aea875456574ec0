import { joinHeaders } from '../../src/client/http.js'
import { throwIfAborted, watchLifetime } from '../../src/client/lifetime.js'
import type { Transport } from '../../src/client/transport.js'
import { TransportError } from '../../src/client/transport.js'

/** The method of TestApp (server-app.ts) and of Fastify instances that the transport calls. */
export interface Injectable {
  inject(request: {
    method: 'GET'
    url: string
    headers: Record<string, string>
    payload?: string
  }): Promise<{ statusCode: number; headers: Record<string, string | string[] | number | undefined>; body: string }>
}

/** A transport that sends requests to a server in the same process, without a socket. */
export function createInjectTransport(app: Injectable): Transport {
  return async (request) => {
    throwIfAborted(request)
    let stop = () => {}
    const ended = new Promise<never>((_resolve, reject) => {
      stop = watchLifetime(request, (kind, message) => reject(new TransportError(kind, message)))
    })
    const answer = app.inject({
      method: request.method as 'GET',
      url: request.path,
      headers: { ...request.headers },
      ...(request.body === undefined ? {} : { payload: request.body }),
    })
    try {
      const { statusCode, headers, body } = await Promise.race([answer.catch(lost), ended])
      return { status: statusCode, headers: joinHeaders(asText(headers)), body }
    } finally {
      stop()
    }
  }
}

/** Throws the transport error for a connection that the server has closed. */
function lost(): never {
  throw new TransportError('lost', 'The connection broke before an answer arrived')
}

function asText(headers: Record<string, string | string[] | number | undefined>) {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, typeof value === 'number' ? String(value) : value]),
  )
}
