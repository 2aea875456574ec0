import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { type AddressInfo, type Socket, connect } from 'node:net'
import { expect, it } from 'vitest'
import { createServer } from '../../src/server/connections.js'

const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'

async function listening(answer: RequestListener) {
  const server = createServer(answer, () => ({ status: 400, headers: {}, body: '' }))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const accepted = once(server, 'connection') as Promise<[Socket]>
  const client = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' })
  const [socket] = await accepted
  const close = () => {
    client.destroy()
    server.closeAllConnections()
    server.close()
  }
  return { client, socket, close }
}

it('of a row of requests eight are worked on at a time, and each is answered', async () => {
  let inWork = 0
  let inWorkMost = 0
  const { client, close } = await listening((_request, response) => {
    inWork += 1
    inWorkMost = Math.max(inWorkMost, inWork)
    response.once('close', () => {
      inWork -= 1
    })
    setImmediate(() => response.end('done'))
  })
  client.write(REQUEST.repeat(3_000))
  let answers = 0
  for await (const chunk of client) {
    answers += String(chunk).split('done').length - 1
    if (answers >= 3_000) break
  }
  expect([answers, inWorkMost]).toEqual([3_000, 8])
  close()
})

it('while many wait for their turn nothing more is read: who sends on and on fills no memory', async () => {
  let taken = 0
  let started = () => {}
  const eight = new Promise<void>((resolve) => {
    started = resolve
  })
  const { client, socket, close } = await listening(() => {
    taken += 1
    if (taken === 8) setImmediate(started)
  })
  client.on('error', () => {})
  client.write(REQUEST.repeat(100_000))
  await eight
  expect([taken, socket.isPaused()]).toEqual([8, true])
  // As Node does when a request is read to its end.
  socket.resume()
  expect(socket.isPaused()).toBe(true)
  close()
})
