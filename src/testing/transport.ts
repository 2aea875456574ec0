import type { RequestListener } from 'node:http'
import { inject } from 'light-my-request'
import { joinHeaders } from '../client/http.js'
import { throwIfAborted, watchLifetime } from '../client/lifetime.js'
import { type Transport, TransportError } from '../client/transport.js'

/** Creates a transport that passes requests to a server in this process, without a socket. */
export function createInProcessTransport(respond: RequestListener): Transport {
  return async (request) => {
    throwIfAborted(request)
    const { method, path: url, headers, body } = request
    let stop = () => {}
    const ended = new Promise<never>((_resolve, reject) => {
      stop = watchLifetime(request, (kind, message) => reject(new TransportError(kind, message)))
    })
    const response = inject(respond, {
      method: method as 'GET',
      url,
      headers: { ...headers },
      ...(body === undefined ? {} : { payload: body }),
    }).catch((cause: unknown) => {
      throw new TransportError('lost', 'The connection broke before an answer arrived', { cause })
    })
    try {
      const { statusCode: status, headers: received, rawPayload: bytes } = await Promise.race([response, ended])
      return { status, headers: joinHeaders(textsOf(received)), body: bytes.toString('utf8'), bytes }
    } finally {
      stop()
    }
  }
}

function textsOf(headers: Readonly<Record<string, number | string | string[] | undefined>>) {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, typeof value === 'number' ? String(value) : value]),
  )
}
