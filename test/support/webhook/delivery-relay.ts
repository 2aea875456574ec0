import { createServer, type IncomingHttpHeaders, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Transport } from '../../../src/client/transport.js'
import { chunksOf } from '../server/request-body.js'

export interface RelayedDelivery {
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  /** Ms before the receiver gets it; the platform gets 200 then, whatever the receiver responds. */
  readonly laterMs?: number
}

/** Stands between a platform and its receivers and changes what arrives there. */
export interface DeliveryRelay {
  /** Makes a platform whose deliveries are changed. */
  deviate(change: (delivery: RelayedDelivery) => RelayedDelivery): (reference: Transport) => Transport
  close(): Promise<void>
}

export async function startDeliveryRelay(): Promise<DeliveryRelay> {
  let receiver = ''
  let change = (delivery: RelayedDelivery) => delivery
  const forward = (path: string, { headers: { host: _, ...headers }, body }: RelayedDelivery) =>
    new Promise<{ status: number; headers: IncomingHttpHeaders }>((resolve, reject) => {
      const sent = request(`${receiver}${path}`, { method: 'POST', headers })
      sent.on('response', (response) => {
        response.resume()
        resolve({ status: response.statusCode ?? 0, headers: response.headers })
      })
      sent.on('error', reject)
      sent.end(body)
    })
  const server = createServer(async (incoming, response) => {
    const delivery = change({ headers: incoming.headers, body: Buffer.concat(await chunksOf(incoming)) })
    const path = incoming.url ?? '/'
    if (delivery.laterMs !== undefined) {
      setTimeout(() => forward(path, delivery).catch(() => {}), delivery.laterMs)
      response.end()
      return
    }
    try {
      const { status, headers } = await forward(path, delivery)
      response.writeHead(status, headers.location === undefined ? {} : { location: headers.location }).end()
    } catch {
      // The receiver of a probe may have closed before a retry.
      response.destroy()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const own = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    deviate: (chosen) => (reference) => async (sent) => {
      change = chosen
      const [origin] = /http:\/\/127\.0\.0\.1:\d+/.exec(sent.body ?? '') ?? []
      if (origin !== undefined) receiver = origin
      const response = await reference(
        origin === undefined ? sent : { ...sent, body: (sent.body ?? '').replaceAll(origin, own) },
      )
      return receiver === '' ? response : { ...response, body: response.body.replaceAll(own, receiver) }
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
