import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { HttpServer } from '../../../src/server/http/http-server.js'

const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'

let server: HttpServer | undefined
const clients: Socket[] = []
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy()
  server?.closeAllConnections()
  server?.close()
})

async function listen(respond: RequestListener): Promise<void> {
  server = new HttpServer(respond, () => ({ status: 400, headers: {}, body: '' }))
  await once(server.listen(0, '127.0.0.1'), 'listening')
}

function newClient(): Socket {
  const client = connect({ port: (server?.address() as AddressInfo).port, host: '127.0.0.1' })
  client.on('error', () => {})
  clients.push(client)
  return client
}

async function bodies(client: Socket, count: number): Promise<string[]> {
  let text = ''
  for await (const chunk of client.iterator({ destroyOnReturn: false })) {
    text += chunk
    const found = text.match(/#\d+/g) ?? []
    if (found.length >= count) return found
  }
  throw new Error('the connection ended')
}

it('server responds in order to repeated batches of 100 requests', { tags: 'connections/1' }, async () => {
  let received = 0
  await listen((_request, response) => {
    const body = `#${received++}`
    // Delay the response to the first request of each batch, so that the later ones must wait.
    if (received % 100 === 1) setTimeout(() => response.end(body), 20)
    else response.end(body)
  })
  const client = newClient()
  for (const batch of [0, 1, 2]) {
    client.write(REQUEST.repeat(100))
    expect(await bodies(client, 100)).toEqual(Array.from({ length: 100 }, (_, n) => `#${100 * batch + n}`))
  }
})

it('server closes a connection that pipelines over 100 requests, and no other', { tags: 'connections/1' }, async () => {
  let started = 0
  await listen((request, response) => {
    started += 1
    if (request.url === '/patient') response.end('#1')
  })
  const patient = newClient()
  const flood = newClient()
  flood.write(REQUEST.repeat(2_000))
  await once(flood, 'close')
  expect(started).toBeLessThanOrEqual(100)
  patient.write(REQUEST.replace('/', '/patient'))
  expect(await bodies(patient, 1)).toEqual(['#1'])
})
