import type { Socket } from 'node:net'

/**
 * Holds back what is written to sockets until the end of the tick, so that the answers of calls that the store served
 * together go out one right after the other: whoever reads them wakes up once for several.
 */
export function jointWrites(): (socket: Socket) => void {
  let held: Socket[] = []
  const release = () => {
    const sockets = held
    held = []
    for (const socket of sockets) socket.uncork()
  }
  return (socket) => {
    socket.cork()
    if (held.push(socket) === 1) setImmediate(release)
  }
}
