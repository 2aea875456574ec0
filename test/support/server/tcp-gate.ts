import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { closedPort } from '../closed-port.js'

export interface Gate {
  readonly port: number
  /** Port to which new connections go; those that are open stay where they are. */
  target: number
  /** Closes all connections, or those that `chosen` selects. */
  drop(chosen?: () => boolean): void
  /** Number of open connections to a port. */
  connectionsTo(port: number): number
  /** Stops forwarding in both directions and keeps the connections open. */
  freeze(): void
  thaw(): void
  /** Closes all connections and refuses new ones until open() is called. */
  shut(): Promise<void>
  open(): Promise<void>
  /** Called with bytes of a client; if it returns true, the server gets them but the client no response. */
  cutWhen: ((sent: Buffer, client: Socket) => boolean) | null
  /** Called with bytes of the server; bytes that it returns are sent instead, then the connection closes. */
  cutAfter: ((received: Buffer) => Buffer | null) | null
  /** Closes the proxy and all its connections. */
  remove(): Promise<void>
}

/** Starts a TCP proxy to a local port that can simulate network faults. */
export async function tcpGate(port: number): Promise<Gate> {
  const pairs = new Set<readonly [Socket, Socket]>()
  let frozen = false
  const server = createServer((client) => {
    const upstream = connect(gate.target, '127.0.0.1')
    const pair = [client, upstream] as const
    pairs.add(pair)
    const end = () => {
      pairs.delete(pair)
      client.destroy()
      upstream.destroy()
    }
    for (const socket of pair) socket.on('error', end).on('close', end)
    client.on('data', (bytes) => {
      const cut = gate.cutWhen?.(bytes, client) ?? false
      upstream.write(bytes)
      // The server has received the request, but the client gets no response.
      if (cut) client.destroy()
    })
    upstream.on('data', (bytes) => {
      const last = gate.cutAfter?.(bytes) ?? null
      if (last === null) return client.write(bytes)
      upstream.destroy()
      client.end(last)
    })
    if (frozen) for (const socket of pair) socket.pause()
  })
  // While the proxy is shut, no other server may get its port.
  const own = await closedPort()
  const open = async () => {
    await once(server.listen(own, '127.0.0.1'), 'listening')
  }
  const shut = async () => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    drop()
    await closed
  }
  const drop = (chosen = () => true) => {
    for (const pair of pairs) if (chosen()) for (const socket of pair) socket.destroy()
  }
  await open()
  const gate: Gate = {
    port: own,
    target: port,
    drop,
    connectionsTo: (to) => [...pairs].filter(([, upstream]) => upstream.remotePort === to).length,
    freeze() {
      frozen = true
      for (const pair of pairs) for (const socket of pair) socket.pause()
    },
    thaw() {
      frozen = false
      for (const pair of pairs) for (const socket of pair) socket.resume()
    },
    shut,
    open,
    cutWhen: null,
    cutAfter: null,
    remove: shut,
  }
  return gate
}
