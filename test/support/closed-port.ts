import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'

let holder: Promise<number> | undefined

/** Starts the server that accepts the connections of reserved ports; returns its port. */
async function startHolder(): Promise<number> {
  const server = createServer((socket) => socket.unref()).unref()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port
}

/**
 * Returns a port of 127.0.0.1 on which no program listens. A connection stays bound to it until this process ends, so
 * that the system gives the port to no other server; a program can still listen on it by its number.
 */
export async function closedPort(): Promise<number> {
  holder ??= startHolder()
  const socket = connect({ host: '127.0.0.1', port: await holder, localAddress: '127.0.0.1' })
  await once(socket, 'connect')
  socket.unref()
  return socket.localPort as number
}
