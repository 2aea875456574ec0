import { type AddressInfo, connect, type Server, type Socket } from 'node:net'
import { ApiResponse } from './client.js'

/** Makes a server listen on a free loopback port; returns the port. */
export async function portOf(app: {
  listen(options: { host: string; port: number }): Promise<unknown>
  readonly server: Server
}): Promise<number> {
  await app.listen({ host: '127.0.0.1', port: 0 })
  return (app.server.address() as AddressInfo).port
}

/** The Authorization header line of a raw HTTP request. */
export const bearerLine = (token: string) => `Authorization: Bearer ${token}\r\n`

/** A raw GET request; each line of `headers` must end with CRLF. */
export const getBytes = (target: string, headers: string) => `GET ${target} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`

/** A raw POST request with a JSON body; each line of `headers` must end with CRLF. */
export function postBytes(target: string, headers: string, body: object): string {
  const text = JSON.stringify(body)
  const ofBody = `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n`
  return `POST ${target} HTTP/1.1\r\nHost: x\r\n${headers}${ofBody}\r\n${text}`
}

/** A TCP connection over which a test sends raw bytes and reads HTTP responses. */
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
    // Ignore a reset: `close` follows, and the test can still read what arrived before.
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

  /** Stops reading what arrives. */
  pause(): this {
    this.#socket.pause()
    return this
  }

  /** Text that has arrived and that response() has not yet returned. */
  get received(): string {
    return this.#received
  }

  /** Resolves with the next response, delimited by Content-Length. @throws if the connection ends before */
  async response(): Promise<ApiResponse> {
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
        return new ApiResponse(Number(statusLine.split(' ')[1]), Object.fromEntries(headers), text)
      }
      if (this.closed) throw new Error(`the connection ended after ${JSON.stringify(this.#received)}`)
      await this.#more()
    }
  }

  async end(): Promise<void> {
    while (!this.closed) await this.#more()
  }

  /** Half-closes the connection: it can still receive but not send. */
  endSide(): this {
    this.#socket.end()
    return this
  }

  destroy(): void {
    this.#socket.destroy()
  }

  /** Closes with RST: a server with a call in progress does not notice a FIN. */
  reset(): void {
    this.#socket.resetAndDestroy()
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }
}

/** Sends bytes on a new connection and returns the first response. */
export async function rawResponse(port: number, bytes: string | Buffer): Promise<ApiResponse> {
  const connection = await RawConnection.to(port)
  try {
    return await connection.write(bytes).response()
  } finally {
    connection.destroy()
  }
}
