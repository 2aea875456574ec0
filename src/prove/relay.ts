import { createServer, type IncomingMessage, request, type Server } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { FAULT_HEADER } from '../contract/platform/fault-kinds.js'
import { listenOnLoopback } from '../files/loopback-port.js'
import { deliveryHeaders } from '../server/delivery/signing.js'
import { parseObject } from '../values/json.js'
import type { Delivered } from './record.js'

/** Time limit of an attempt, as of the platform. */
const ATTEMPT_MS_MAX = 15_000
/** Added to the id of an update for the id of its stale copy. */
const COPY = 1_000_000_000

type Headers = Readonly<Record<string, string | string[] | undefined>>

/** Passes the deliveries of the platform to the receiver of the program, and records its responses. */
export class Relay {
  delivered: Delivered[] = []
  /** Address of the relay itself. */
  url = ''
  /** Called after the receiver has responded to a delivery, and before the platform gets the response. */
  onAnswer: (delivered: Delivered) => Promise<void> = async () => {}
  readonly #server: Server
  readonly #target: URL
  readonly #secret: string
  readonly #bodies = new Map<number, Buffer>()
  #count = 0
  #changesBytes = false
  #now = () => 0

  private constructor(target: URL, secret: string) {
    this.#target = target
    this.#secret = secret
    this.#server = createServer(async (incoming, outgoing) => {
      const status = await this.#pass(incoming).catch(() => null)
      if (status === null) outgoing.destroy()
      else outgoing.writeHead(status).end()
    })
  }

  static async open(target: URL, secret: string): Promise<Relay> {
    const relay = new Relay(target, secret)
    relay.url = `http://127.0.0.1:${await listenOnLoopback(relay.#server)}/`
    return relay
  }

  /** @param changesBytes true to send each body with other bytes of the same value, signed anew */
  restart(changesBytes: boolean, now: () => number): void {
    this.delivered = []
    this.onAnswer = async () => {}
    this.#changesBytes = changesBytes
    this.#now = now
    this.#bodies.clear()
    this.#count = 0
  }

  /**
   * Sends a delivery once more; false if there is none. A stale copy has a new update id, and is signed rightly for a
   * time of long ago; any other one is as the platform sends after its 2xx was lost.
   */
  async sendCopy(nth: number, isStale: boolean): Promise<boolean> {
    const sent = this.#bodies.get(nth)
    if (sent === undefined) return false
    const update = parseObject(sent.toString())
    const updateId = Number(update?.update_id) + (isStale ? COPY : 0)
    const rawBody = isStale ? Buffer.from(JSON.stringify({ ...update, update_id: updateId })) : sent
    await this.#forward(nth, this.#headersOf(rawBody, updateId, isStale ? 'stale' : undefined), rawBody, true)
    return true
  }

  /** True if a delivery arrived before an earlier one. */
  get hasOvertaken(): boolean {
    return this.delivered.some(({ updateId }, at) => updateId < (this.delivered[at - 1]?.updateId ?? 0))
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  async #pass(incoming: IncomingMessage): Promise<number | null> {
    const body = await buffer(incoming)
    const nth = ++this.#count
    const { host: _host, connection: _connection, ...headers } = incoming.headers
    this.#bodies.set(nth, body)
    const delivered = this.#changesBytes
      ? await this.#forward(nth, ...this.#withOtherBytes(body))
      : await this.#forward(nth, headers, body)
    await this.onAnswer(delivered)
    return delivered.status
  }

  #withOtherBytes(body: Buffer): [Headers, Buffer] {
    const update = parseObject(body.toString())
    const rawBody = Buffer.from(JSON.stringify(update, null, 1).replaceAll('/', '\\/'))
    return [this.#headersOf(rawBody, Number(update?.update_id)), rawBody]
  }

  /** Headers as the platform sends them now. */
  #headersOf(body: Buffer, updateId: number, fault?: 'stale'): Headers {
    return deliveryHeaders(body, updateId, [this.#secret], Math.floor(Date.now() / 1000), fault)
  }

  async #forward(nth: number, headers: Headers, body: Buffer, isCopy = false): Promise<Delivered> {
    const update = parseObject(body.toString())
    const named = headers[FAULT_HEADER.toLowerCase()]
    const delivered: Delivered = {
      nth,
      type: String(update?.type),
      updateId: Number(update?.update_id),
      at: this.#now(),
      status: await this.#post(forReceiver(headers), body),
      fault: typeof named === 'string' ? named : undefined,
      isCopy,
    }
    this.delivered.push(delivered)
    return delivered
  }

  #post(headers: Record<string, string>, body: Buffer): Promise<number | null> {
    return new Promise((resolve) => {
      const options = {
        method: 'POST',
        headers: { ...headers, 'content-length': String(body.length) },
        agent: false as const,
      }
      const outgoing = request(this.#target, { ...options, timeout: ATTEMPT_MS_MAX }, (response) => {
        response
          .resume()
          .once('error', () => resolve(null))
          .once('end', () => resolve(response.statusCode ?? null))
      })
      outgoing.once('timeout', () => outgoing.destroy()).once('error', () => resolve(null))
      outgoing.end(body)
    })
  }
}

/** Headers for the receiver: not the fault, from which a program could tell that it is tried. */
const forReceiver = (headers: Headers): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      typeof value === 'string' && name.toLowerCase() !== FAULT_HEADER.toLowerCase() ? [[name, value]] : [],
    ),
  )
