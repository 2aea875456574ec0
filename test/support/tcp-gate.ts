import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Gate {
  readonly port: number
  /** From now on nothing passes, in neither direction, and nobody is told. */
  freeze(): void
  thaw(): void
  /** Cuts what is open, and refuses connections until it is opened again. */
  shut(): Promise<void>
  open(): Promise<void>
  /** Told of what clients send; true keeps it and everything after it from its connection, and cuts that. */
  cutWhen: ((sent: Buffer) => boolean) | null
  /** Told of what is answered; bytes take its place, in one piece, and cut the connection. */
  cutAfter: ((answered: Buffer) => Buffer | null) | null
  /** For good. */
  remove(): Promise<void>
}

/** A way to a port of this machine that can be closed as networks close: without a word, or with a refusal. */
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
      // What was sent arrives; what is answered does not.
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
