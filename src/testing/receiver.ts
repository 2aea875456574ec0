import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { FAULT_HEADER } from '../contract/platform/fault-kinds.js'
import { type UpdateType, updateTypes } from '../contract/updates.js'
import { listenOnLoopback } from '../files/loopback-port.js'
import type { Deps } from '../server/deps.js'
import { deliverTo } from '../server/handlers/webhook.js'
import type { Seed } from '../server/seed/schema.js'
import { decodePart } from '../values/path-part.js'
import { rightRefusal } from '../webhook/explain.js'
import { verifyWebhook } from '../webhook/index.js'
import { readInteger, requireMembers, TestingError, wrongType, wrongValue } from './arguments.js'
import type { ReceivedUpdate, ReceiveOptions } from './types.js'
import { Waiting } from './waiting.js'

export const WITHIN_MS = 5_000
export const WITHIN_MS_MAX = 2 ** 31 - 1

interface Arrival {
  readonly bot: string
  /** The update, or the reason of a refusal with its planted fault. */
  readonly update: ReceivedUpdate | string
  isReturned: boolean
}

interface ReceiverState {
  readonly arrivals: readonly Arrival[]
  readonly selected: ReadonlyMap<string, readonly UpdateType[]>
}

const nothing: ReceiverState = { arrivals: [], selected: new Map() }

/** Receives the webhooks of one server's bots; listens from the first `receive` call on. */
export class Receiver {
  readonly #deps: Deps
  readonly #seed: Seed
  readonly #secret = randomBytes(24).toString('base64url')
  readonly #waiting = new Waiting()
  /** Update types that bots had selected before their first `receive` call. */
  #selected = new Map<string, readonly UpdateType[]>()
  #arrivals: Arrival[] = []
  #closed: Error | undefined
  #isPaused = false
  #opening: Promise<{ readonly server: Server; readonly origin: string }> | undefined

  constructor(deps: Deps, seed: Seed) {
    this.#deps = deps
    this.#seed = seed
  }

  async receive<T extends UpdateType>(type: T, options: ReceiveOptions = {}): Promise<ReceivedUpdate<T>> {
    if (!updateTypes.includes(type)) throw wrongValue('type', `one of ${updateTypes.join(', ')}`, type)
    requireMembers('options', options, ['within', 'bot'])
    const within = readInteger('options.within', options.within, 0, WITHIN_MS_MAX) ?? WITHIN_MS
    const bot = this.#botOf(options.bot)
    const deadline = performance.now() + within
    await this.#deliverHere(bot)
    if (this.#closed !== undefined) throw this.#closed
    return this.#next(bot, type, within, deadline)
  }

  /** Returns the present state, including received updates, for `replace`. */
  save(): ReceiverState {
    return { arrivals: this.#arrivals.map((it) => ({ ...it })), selected: new Map(this.#selected) }
  }

  /** Runs `work`, which replaces the server's state, and returns to the matching state of the receiver. */
  async replace(work: () => Promise<void>, { arrivals, selected }: ReceiverState = nothing): Promise<void> {
    // Deliveries in flight belong to the replaced state.
    this.#isPaused = true
    try {
      ;(await this.#opening)?.server.closeAllConnections()
      await work()
      this.#arrivals = arrivals.map((it) => ({ ...it }))
      this.#selected = new Map(selected)
      // The new state lacks the webhooks of waiting calls.
      for (const bot of this.#waiting.subjects()) {
        await this.#deliverHere(bot).catch((error: Error) => this.#waiting.fail(error, bot))
      }
    } finally {
      this.#isPaused = false
    }
  }

  async close(reason: Error): Promise<void> {
    this.#closed = reason
    this.#waiting.fail(reason)
    if (this.#opening === undefined) return
    const { server } = await this.#opening
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }

  #botOf(named: string | undefined): string {
    if (named !== undefined) {
      if (typeof named !== 'string') throw wrongType('options.bot', 'the id of a bot', named)
      return named
    }
    const linked = this.#seed.bots?.find((it) => it.application_id !== undefined && it.review_status !== 'pending')
    if (linked !== undefined) return linked.id
    throw wrongType('options.bot', 'the id of a bot, because the seed has none that is linked to an application', named)
  }

  /** Sets the bot's webhook to this receiver; does nothing if it is already set. */
  async #deliverHere(bot: string): Promise<void> {
    this.#opening ??= this.#listen()
    const { origin } = await this.#opening
    const set = await deliverTo(this.#deps, bot, { url: `${origin}/${encodeURIComponent(bot)}`, secret: this.#secret })
    if (!set.ok) throw new TestingError('BOT_UNUSABLE', `Bot ${bot} cannot receive updates: ${set.code}`)
    if (set.elsewhere === null) {
      if (!this.#selected.has(bot)) this.#selected.set(bot, set.selected)
      return
    }
    throw new TestingError(
      'BOT_UNUSABLE',
      `Bot ${bot} has a webhook at ${set.elsewhere}: name another bot in options.bot, or delete that webhook`,
    )
  }

  #next<T extends UpdateType>(bot: string, type: T, within: number, deadline: number): Promise<ReceivedUpdate<T>> {
    const take = () => {
      const isNext = (it: Arrival): it is Arrival & { update: ReceivedUpdate<T> } =>
        it.bot === bot && isOf(type, it.update) && !it.isReturned
      const found = this.#arrivals.find(isNext)
      if (found === undefined) return undefined
      found.isReturned = true
      return found.update
    }
    const overdue = () => new TestingError('UPDATE_NOT_RECEIVED', this.#report(bot, type, within))
    return this.#waiting.wait(Math.max(0, deadline - performance.now()), take, overdue, bot)
  }

  /** Describes what arrived instead of the expected update. */
  #report(bot: string, type: UpdateType, within: number): string {
    const arrived = this.#arrivals.map((arrival) => {
      const recipient = arrival.bot === bot ? '' : ` for ${arrival.bot}`
      if (typeof arrival.update === 'string') return `a delivery${recipient} that was refused (${arrival.update})`
      return `${arrival.update.type}${recipient} (update ${arrival.update.update_id}${arrival.isReturned ? ', returned before' : ''})`
    })
    const instead = arrived.length === 0 ? 'No delivery arrived' : `Arrived: ${arrived.join(', ')}`
    const isLate = this.#selected.get(bot)?.includes(type) === false
    const hint = isLate ? ` ${bot} did not select ${type} before: name it in allowed_updates of the seed.` : ''
    return `No ${type} arrived for ${bot} within ${within} ms. ${instead}.${hint}`
  }

  async #listen(): Promise<{ readonly server: Server; readonly origin: string }> {
    const server = createServer(async (request, response) => {
      try {
        const body = await buffer(request)
        if (this.#isPaused) response.destroy()
        else response.writeHead(this.#take(request, body)).end()
      } catch {
        // Close the connection: the server will deliver again.
        response.destroy()
      }
    })
    const port = await listenOnLoopback(server)
    // The server under test, not this one, keeps the process alive.
    server.unref()
    return { server, origin: `http://127.0.0.1:${port}` }
  }

  /** Verifies a delivery and resolves the first call that waits for it. Returns the status of the response. */
  #take({ headers, url = '/' }: IncomingMessage, rawBody: Buffer): number {
    const bot = decodePart(url.slice(1))
    const verdict = verifyWebhook({ headers, rawBody, secrets: [this.#secret] })
    if (!verdict.ok) {
      const fault = String(headers[FAULT_HEADER.toLowerCase()])
      const planted = rightRefusal(fault) === undefined ? '' : `, planted fault ${fault}`
      this.#arrivals.push({ bot, update: verdict.reason + planted, isReturned: false })
      return 401
    }
    const update: ReceivedUpdate = verdict.body
    const isSame = (it: Arrival) => typeof it.update !== 'string' && it.update.update_id === update.update_id
    if (this.#arrivals.some((it) => it.bot === bot && isSame(it))) return 200
    this.#arrivals.push({ bot, update, isReturned: false })
    this.#waiting.look()
    return 200
  }
}

const isOf = (type: UpdateType, update: Arrival['update']) => typeof update !== 'string' && update.type === type
