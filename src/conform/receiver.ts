import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** A delivery of the platform, as it arrived. */
export interface Arrival {
  /** Path of the request, by which a probe finds its deliveries. */
  readonly path: string
  /** Ms of a clock that only moves forward. */
  readonly at: number
  readonly headers: IncomingHttpHeaders
  readonly rawBody: Buffer
}

interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
}

/** Status of the response to a delivery, optionally with headers or delayed; default 200. */
export type Responder = (arrival: Arrival) => number | Reply | Promise<number>

export class WebhookReceiver {
  readonly #server: Server
  readonly #arrivals: Arrival[] = []
  readonly #responders = new Map<string, Responder>()
  #arrived: () => void = () => {}

  private constructor(
    server: Server,
    /** URL of this receiver for the platform, without a final slash. */
    readonly url: string,
  ) {
    this.#server = server
    server.on('request', async (request, response) => {
      try {
        const rawBody = await buffer(request)
        const path = request.url ?? '/'
        const arrival = { path, at: performance.now(), headers: request.headers, rawBody }
        this.#arrivals.push(arrival)
        this.#arrived()
        const reply = await [...this.#responders].find(([end]) => path.endsWith(end))?.[1](arrival)
        const { status, headers } = typeof reply === 'object' ? reply : { status: reply ?? 200, headers: {} }
        response.writeHead(status, headers).end()
      } catch {
        // Do not count a delivery that breaks off.
        response.destroy()
      }
    })
  }

  /** @param url URL of this receiver for the platform; default: its own address */
  static async listen(port: number, url?: string): Promise<WebhookReceiver> {
    const server = createServer()
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, '127.0.0.1', resolve)
    })
    const own = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    return new WebhookReceiver(server, (url ?? own).replace(/\/+$/, ''))
  }

  /** Chooses the responses to deliveries for URLs that end with `end`. */
  respond(end: string, responder: Responder): void {
    this.#responders.set(end, responder)
  }

  /** Deliveries for URLs that end with `end`, in order of arrival. */
  arrivals(end: string): readonly Arrival[] {
    return this.#arrivals.filter(({ path }) => path.endsWith(end))
  }

  /** Resolves to the arrivals after `count` deliveries, or after `ms`. */
  async wait(end: string, count: number, ms: number): Promise<readonly Arrival[]> {
    const deadline = performance.now() + ms
    while (this.arrivals(end).length < count) {
      const left = deadline - performance.now()
      if (left <= 0) break
      let timer: NodeJS.Timeout | undefined
      await new Promise<void>((resolve) => {
        this.#arrived = resolve
        timer = setTimeout(resolve, left)
      })
      clearTimeout(timer)
    }
    return this.arrivals(end)
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
