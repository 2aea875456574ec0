import { type Socket, connect, createServer } from 'node:net'
import { onTestFinished } from 'vitest'
import { listen } from './listen.js'

export interface Gate {
  readonly port: number
  /** From now on nothing passes, in neither direction, and nobody is told. */
  freeze(): void
  thaw(): void
  /** Told of what clients send; true keeps it and everything after it from its connection, and cuts that. */
  cutWhen: ((sent: Buffer) => boolean) | null
}

/** A way to a port of this machine that can be closed as networks close: without a word. */
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
    upstream.on('data', (bytes) => client.write(bytes))
    if (frozen) for (const socket of pair) socket.pause()
  })
  const gate: Gate = {
    port: await listen(server),
    freeze() {
      frozen = true
      for (const pair of pairs) for (const socket of pair) socket.pause()
    },
    thaw() {
      frozen = false
      for (const pair of pairs) for (const socket of pair) socket.resume()
    },
    cutWhen: null,
  }
  onTestFinished(() => {
    for (const pair of pairs) for (const socket of pair) socket.destroy()
  })
  return gate
}
