import { connect } from 'node:net'

const ANSWER_MS_MAX = 3_000

/** PostgreSQL's SSLRequest: eight bytes, answered by one. */
const REQUEST = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f])

/** Asks a server whether it speaks TLS; one that cannot be reached does not, and the connection will say so. */
export function supportsTls(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: ANSWER_MS_MAX }, () => socket.write(REQUEST))
    const end = (answer: boolean) => {
      socket.destroy()
      resolve(answer)
    }
    socket.once('data', (bytes) => end(bytes[0] === 'S'.charCodeAt(0)))
    socket.once('timeout', () => end(false))
    socket.once('error', () => end(false))
    socket.once('end', () => end(false))
  })
}
