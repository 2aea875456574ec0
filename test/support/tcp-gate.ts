import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Gate {
  readonly port: number
  /** Silently stops all traffic in both directions. */
  freeze(): void
  thaw(): void
  /** Closes all connections and refuses new ones until `open`. */
  shut(): Promise<void>
  open(): Promise<void>
  /** Called with client bytes; true forwards them and closes the client before a response. */
  cutWhen: ((sent: Buffer) => boolean) | null
  /** Called with server bytes; returned bytes replace them, and the connection is closed. */
  cutAfter: ((answered: Buffer) => Buffer | null) | null
  /** Closes the gate permanently. */
  remove(): Promise<void>
}

/** A TCP proxy to a local port that can fail like a network: silently or by refusing connections. */
export async function tcpGate(port: number): Promise<Gate> {
  const pairs = new Set<readonly [Socket, Socket]>()
  let frozen = false
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1')
    const pair = [client, upstream] as const
    pairs.add(pair)
    const end = () => {
      pairs.delete(pair)
      client.destroy()
      upstream.destroy()
    }
    for (const socket of pair) socket.on('error', end).on('close', end)
    client.on('data', (bytes) => {
      const cut = gate.cutWhen?.(bytes) ?? false
      upstream.write(bytes)
      // The server gets the bytes; the client gets no response.
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
  const listening = async (where: number) => {
    await once(server.listen(where, '127.0.0.1'), 'listening')
    return (server.address() as AddressInfo).port
  }
  const shut = async () => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    for (const pair of pairs) for (const socket of pair) socket.destroy()
    await closed
  }
  const own = await listening(0)
  const gate: Gate = {
    port: own,
    freeze() {
      frozen = true
      for (const pair of pairs) for (const socket of pair) socket.pause()
    },
    thaw() {
      frozen = false
      for (const pair of pairs) for (const socket of pair) socket.resume()
    },
    shut,
    open: async () => {
      await listening(own)
    },
    cutWhen: null,
    cutAfter: null,
    remove: shut,
  }
  return gate
}
