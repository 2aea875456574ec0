import { createServer } from 'node:http'
import { verifyWebhook, type WebhookVerdict } from '../../../src/webhook/index.js'
import { listen } from '../listen.js'
import { chunksOf } from '../server/request-body.js'

export interface ReceivedDelivery {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
  /** Size of each received chunk in bytes. */
  readonly pieces: readonly number[]
  readonly verdict: WebhookVerdict
}

export interface WebhookReceiver {
  readonly url: string
  readonly received: ReceivedDelivery[]
}

/**
 * Starts an app that verifies deliveries and responds with the status that `statusOf` returns: by default 200, or 401
 * for an invalid delivery; 0 closes the connection. `now` is the time in Unix ms, by default the system clock's.
 */
export async function webhookReceiver(
  secret: string,
  statusOf: (delivery: ReceivedDelivery, index: number) => number | Promise<number> = ({ verdict }) =>
    verdict.ok ? 200 : 401,
  now?: number,
): Promise<WebhookReceiver> {
  const received: ReceivedDelivery[] = []
  const server = createServer(async (request, response) => {
    const chunks = await chunksOf(request)
    const body = Buffer.concat(chunks)
    const { headers } = request
    const clock = now === undefined ? {} : { now }
    const verdict = verifyWebhook({ headers, rawBody: body, secrets: [secret], ...clock })
    const delivery = { headers, body, pieces: chunks.map((it) => it.length), verdict }
    const status = await statusOf(delivery, received.push(delivery) - 1)
    if (status === 0) request.socket.destroy()
    else response.writeHead(status).end()
  })
  return { url: `http://127.0.0.1:${await listen(server)}`, received }
}
