import type { RequestListener } from 'node:http'
import { inject } from 'light-my-request'
import { joinHeaders } from '../client/http.js'
import { type Transport, TransportError, throwIfAborted, watchLifetime } from '../client/transport.js'

/**
 * Creates a transport that passes requests to a server in this process, without a socket.
 * @param host header Host of the requests, which a server with a port checks
 */
export function createInProcessTransport(respond: RequestListener, host = 'localhost'): Transport {
  return async (request) => {
    throwIfAborted(request)
    const { method, path: url, headers, body } = request
    let stop = () => {}
    const ended = new Promise<never>((_resolve, reject) => {
      stop = watchLifetime(request, (kind, message) => reject(new TransportError(kind, message)))
    })
    let isLost = false
    const handle: RequestListener = (incoming, outgoing) => {
      // A socket would lose what is written to a destroyed response; light-my-request returns it.
      outgoing.prependOnceListener('finish', () => {
        isLost = outgoing.destroyed
      })
      respond(incoming, outgoing)
    }
    const options = { method: method as 'GET', url, headers: { host, ...headers }, validate: false }
    const response = inject(handle, body === undefined ? options : { ...options, payload: body }).catch(
      (cause: unknown) => {
        throw lost(cause)
      },
    )
    try {
      const { statusCode: status, headers: received, rawPayload: bytes } = await Promise.race([response, ended])
      if (isLost) throw lost()
      return { status, headers: joinHeaders(textsOf(received)), body: bytes.toString('utf8'), bytes }
    } finally {
      stop()
    }
  }
}

const lost = (cause?: unknown) =>
  new TransportError('lost', 'The connection broke before a response arrived', { cause })

function textsOf(headers: Readonly<Record<string, number | string | string[] | undefined>>) {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, typeof value === 'number' ? String(value) : value]),
  )
}
