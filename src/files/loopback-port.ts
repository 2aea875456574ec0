import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'

/**
 * Starts a server that only this machine can reach.
 * @param port 0 for any free one
 * @returns the port
 * @throws the error of Node, such as EADDRINUSE
 */
export async function listenOnLoopback(server: Server, port = 0): Promise<number> {
  await once(server.listen(port, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port
}
