import { connect } from 'node:net'

const RESPONSE_MS_MAX = 3_000

/** PostgreSQL's SSLRequest: eight bytes; the response is one. */
const REQUEST = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f])

/** Whether the server speaks TLS; false for one that is unreachable, which the connection will report. */
export function supportsTls(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: RESPONSE_MS_MAX }, () => socket.write(REQUEST))
    const end = (speaksTls: boolean) => {
      socket.destroy()
      resolve(speaksTls)
    }
    socket.once('data', (bytes) => end(bytes[0] === 'S'.charCodeAt(0)))
    socket.once('timeout', () => end(false))
    socket.once('error', () => end(false))
    socket.once('end', () => end(false))
  })
}
