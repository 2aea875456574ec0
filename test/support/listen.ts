import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** Makes a server listen on a free port of 127.0.0.1 until the test ends; returns the port. */
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
  /** Text that the server has received so far, per connection. */
  readonly received: string[]
}

/** A TCP server that calls `respond` once per connection, after a whole HTTP request has arrived. */
export async function rawServer(respond: (socket: Socket, request: string) => void): Promise<RawServer> {
  const received: string[] = []
  const server = createServer((socket) => {
    const index = received.push('') - 1
    let hasResponded = false
    socket.on('data', (chunk) => {
      received[index] += chunk.toString('latin1')
      const text = received[index] ?? ''
      const head = text.indexOf('\r\n\r\n')
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)
      if (hasResponded || head < 0 || text.length < head + 4 + length) return
      hasResponded = true
      respond(socket, text)
    })
  })
  return { baseUrl: `http://127.0.0.1:${await listen(server)}`, received }
}
