import { type AddressInfo, connect, type Server, type Socket } from 'node:net'
import { Answer } from './server-client.js'

/** Makes an app listen on a free loopback port until the app closes. */
export async function portOf(app: {
  listen(options: { host: string; port: number }): Promise<unknown>
  readonly server: Server
}): Promise<number> {
  await app.listen({ host: '127.0.0.1', port: 0 })
  return (app.server.address() as AddressInfo).port
}

/** An authorization header line for a raw request. */
export const bearerLine = (token: string) => `Authorization: Bearer ${token}\r\n`

/** A raw GET request; header lines end with CRLF. */
export const getBytes = (target: string, headers: string) => `GET ${target} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`

/** One connection to which a test writes raw bytes. */
export class RawConnection {
  #received = ''
  #wake: (() => void) | undefined
  readonly #socket: Socket
  closed = false

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (chunk) => {
      this.#received += chunk.toString('latin1')
      this.#wake?.()
    })
    // A reset counts as an end; bytes received before it stay readable.
    socket.on('error', () => {})
    socket.on('close', () => {
      this.closed = true
      this.#wake?.()
    })
  }

  static async to(port: number): Promise<RawConnection> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject))
    return new RawConnection(socket)
  }

  write(bytes: string | Buffer): this {
    this.#socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
    return this
  }

  /** Bytes received and not yet read. */
  get received(): string {
    return this.#received
  }

  /** Returns the next whole response by its Content-Length. @throws if the connection ends before it */
  async answer(): Promise<Answer> {
    for (;;) {
      const head = this.#received.indexOf('\r\n\r\n')
      const length = Number(/content-length: (\d+)/i.exec(this.#received.slice(0, head))?.[1] ?? 0)
      if (head >= 0 && this.#received.length >= head + 4 + length) {
        const text = Buffer.from(this.#received.slice(head + 4, head + 4 + length), 'latin1').toString('utf8')
        const [statusLine = '', ...lines] = this.#received.slice(0, head).split('\r\n')
        const headers = lines.map((line) => {
          const colon = line.indexOf(':')
          return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
        })
        this.#received = this.#received.slice(head + 4 + length)
        return new Answer(Number(statusLine.split(' ')[1]), Object.fromEntries(headers), text)
      }
      if (this.closed) throw new Error(`the connection ended after ${JSON.stringify(this.#received)}`)
      await this.#more()
    }
  }

  async end(): Promise<void> {
    while (!this.closed) await this.#more()
  }

  /** Half-closes the connection: sends no more, still receives. */
  endSide(): this {
    this.#socket.end()
    return this
  }

  destroy(): void {
    this.#socket.destroy()
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }
}

/** Returns the first response to some bytes on a new connection. */
export async function rawAnswer(port: number, bytes: string | Buffer): Promise<Answer> {
  const connection = await RawConnection.to(port)
  try {
    return await connection.write(bytes).answer()
  } finally {
    connection.destroy()
  }
}
