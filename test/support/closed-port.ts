import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, createServer } from 'node:net'
import { onTestFinished } from 'vitest'

/** Returns a port of 127.0.0.1 that refuses connections and that no program can listen on until the test ends. */
export async function closedPort(): Promise<number> {
  const server = createServer((socket) => socket.on('error', () => {}))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // The near end of a connection occupies a port without listening on it.
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  onTestFinished(() => {
    socket.destroy()
    server.close()
  })
  await once(socket, 'connect')
  return (socket.address() as AddressInfo).port
}

/** Returns a port of 127.0.0.1 on which no program listened just now, for a server that takes no port 0. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
