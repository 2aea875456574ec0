import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { signWebhook, verifyWebhook, type WebhookVerdict } from '../../src/webhook/index.js'

const secrets = ['whsec_test_secret_0123456789abcdef']
const seconds = 1_735_689_600
const rawBody = '{"update_id":1,\r\n"type":"ping"}\n'
const headers = signWebhook({ rawBody, secrets, timestamp: seconds, updateId: 1 })

/** Sends a delivery over a socket to a receiver that is written as the guide shows. */
async function deliver(sent: Record<string, string | string[]>): Promise<WebhookVerdict[]> {
  const verdicts: WebhookVerdict[] = []
  const server = createServer(async (incoming, response) => {
    const chunks: Uint8Array[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    for (const received of [incoming.headers, incoming.headersDistinct]) {
      verdicts.push(verifyWebhook({ headers: received, rawBody: Buffer.concat(chunks), secrets, now: seconds * 1000 }))
    }
    response.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const outgoing = request({ port, host: '127.0.0.1', method: 'POST', headers: sent, agent: false }).end(rawBody)
  const [response] = await once(outgoing, 'response')
  await once(response.resume(), 'end')
  server.close()
  return verdicts
}

it('verifyWebhook accepts a delivery with headers and with headersDistinct of node:http', async () => {
  const accepted = { ok: true, updateId: '1', body: { update_id: 1, type: 'ping' } }
  expect(await deliver({ ...headers })).toMatchObject([accepted, accepted])
})

it.each(Object.entries(headers))(
  'verifyWebhook refuses a duplicate %s of node:http as repeated_header',
  async (name, value) => {
    const refused = { ok: false, reason: 'repeated_header', message: `${name} has more than one value.` }
    expect(await deliver({ ...headers, [name]: [value, value] })).toEqual([refused, refused])
  },
)
