import type { AddressInfo, Server, Socket } from 'node:net'
import { createServer } from 'node:net'
import { onTestFinished } from 'vitest'

/** Listens on a free loopback port until the test ends; returns the port. */
export async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return (server.address() as AddressInfo).port
}

export interface RawServer {
  readonly baseUrl: string
  /** Bytes that each connection has sent so far. */
  readonly received: string[]
}

/** A server that calls `answer` once per connection, after a whole request has arrived. */
export async function rawServer(answer: (socket: Socket, request: string) => void): Promise<RawServer> {
  const received: string[] = []
  const server = createServer((socket) => {
    const index = received.push('') - 1
    let answered = false
    socket.on('data', (chunk) => {
      received[index] += chunk.toString('latin1')
      const text = received[index] ?? ''
      const head = text.indexOf('\r\n\r\n')
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)
      if (answered || head < 0 || text.length < head + 4 + length) return
      answered = true
      answer(socket, text)
    })
  })
  return { baseUrl: `http://127.0.0.1:${await listen(server)}`, received }
}
