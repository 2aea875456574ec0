import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, expect, it, vi } from 'vitest'
import { createServer } from '../../../src/server/http/connections.js'

afterEach(() => void vi.useRealTimers())

const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'

async function listening(answer: RequestListener) {
  const server = createServer(answer, () => ({ status: 400, headers: {}, body: '' }))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const accepted = once(server, 'connection') as Promise<[Socket]>
  const client = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' })
  const [socket] = await accepted
  const { port } = server.address() as AddressInfo
  const clients = [client]
  const another = () => {
    const more = connect({ port, host: '127.0.0.1' })
    clients.push(more)
    return more
  }
  const close = () => {
    for (const it of clients) it.destroy()
    server.closeAllConnections()
    server.close()
  }
  return { client, socket, another, close }
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

it('rows of 8,000 requests together are enough: whoever makes a long one longer is cut off, the others are not', async () => {
  let answers = true
  const { another, close } = await listening((_request, response) => {
    if (answers) response.end('done')
  })
  const patient = another()
  patient.write(REQUEST)
  await once(patient, 'data')
  answers = false
  const row = REQUEST.repeat(1_500)
  const cut = await new Promise<number>((resolve) => {
    let ended = 0
    for (let n = 1; n <= 8; n++) {
      another()
        .on('error', () => {})
        .on('close', () => {
          ended += 1
          // Five rows fit, the sixth does not.
          if (ended === 3) resolve(ended)
        })
        .write(row)
    }
  })
  expect(cut).toBe(3)
  answers = true
  patient.write(REQUEST)
  expect(String(await once(patient, 'data'))).toContain('done')
  // What was cut off left its place: five rows have 7,460 requests that wait.
  const later = another()
  later.write(REQUEST.repeat(500))
  let given = 0
  for await (const chunk of later) {
    given += String(chunk).split('done').length - 1
    if (given === 500) break
  }
  expect(given).toBe(500)
  close()
})

it('a row that does not move for a minute is cut off', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  let taken = 0
  const { client, socket, close } = await listening(() => {
    taken += 1
  })
  client.on('error', () => {})
  client.write(REQUEST.repeat(100))
  while (taken < 8) await new Promise((resolve) => setImmediate(resolve))
  vi.advanceTimersByTime(59_000)
  expect(socket.destroyed).toBe(false)
  vi.advanceTimersByTime(2_000)
  expect(socket.destroyed).toBe(true)
  close()
})
