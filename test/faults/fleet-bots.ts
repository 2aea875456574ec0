import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { contract } from '../../src/contract/index.js'
import { query } from '../support/postgres/query.js'
import { type ApiResponse, callerOf } from '../support/server/client.js'
import type { Tenant, TestBot } from '../support/server/tenant.js'
import { type Fleet, other, type Place } from './fleet.js'

/** Seconds of the poll that waits for the first message after a failover. */
const WAKE_S = 50
/** Maximum ms until that poll returns: without a wake-up it would end after WAKE_S. */
const WOKEN_MS_MAX = { quiet: 10_000, busy: 45_000 }
/** Delay in ms until a poll waits in its server. */
const WAITS_AFTER_MS = 100
/** An attempt whose claim was lost ends with its lease (30 s) and a sweep (10 s); its retry is due 60 s later. */
const DELIVERED_MS_MAX = 150_000
const PAUSE_MS = 100
const POLL_S = 2

interface BotChat {
  readonly bot: TestBot
  readonly chatId: string
}

/** Bots of a fleet: one polls and sends messages, one has a webhook, and one for each server waits for a wake-up. */
export class FleetBots {
  /** Number of received attempts by update id. */
  readonly #received = new Map<number, number>()
  /** Texts of messages: true if acknowledged, false if their result is unknown. */
  readonly #sent = new Map<string, boolean>()
  /** Texts of polled messages with the ids of their updates. */
  readonly #polled = new Map<string, number>()
  /** Ids of acknowledged updates for the webhook. */
  readonly #pinged = new Set<number>()
  readonly wokenMs: number[] = []
  #offset = 0
  #made = 0

  private constructor(
    readonly fleet: Fleet,
    readonly receiver: Server,
    readonly tenant: Tenant,
    readonly chat: BotChat,
    readonly waking: readonly [BotChat, BotChat],
    readonly hooked: TestBot,
  ) {
    receiver.on('request', (request, response) => {
      const id = Number(request.headers['x-platform-update-id'])
      this.#received.set(id, (this.#received.get(id) ?? 0) + 1)
      request.resume()
      response.writeHead(204).end()
    })
  }

  /** @param receiver the server of `newReceiver`, whose port the servers of the fleet allow */
  static async open(fleet: Fleet, tenant: Tenant, receiver: Server, port: number): Promise<FleetBots> {
    const chatOf = async (bot: TestBot): Promise<BotChat> => {
      const { data } = await tenant.operator(contract.platform.createChat, { bot_id: bot.id, user_id: 'user' })
      return { bot, chatId: data.id }
    }
    const chat = await chatOf(await tenant.bot())
    const waking = [await chatOf(await tenant.bot()), await chatOf(await tenant.bot())] as const
    const hooked = await tenant.bot()
    const bots = new FleetBots(fleet, receiver, tenant, chat, waking, hooked)
    await tenant.console(contract.webhook.set, { botId: hooked.id, url: `http://127.0.0.1:${port}/` })
    return bots
  }

  /** Sends messages in both directions and polls until `shouldContinue` returns false. */
  async run(name: string, shouldContinue: () => boolean): Promise<void> {
    const senders = ([0, 1] as const).map(async (place) => {
      for (let n = 0; shouldContinue(); n++) {
        await this.#say(place, n % 2 === 0, `${name}-${place}-${n}`)
        await this.#ping(place)
        await wait(PAUSE_MS)
      }
    })
    const polling = async () => {
      for (let n = 0; shouldContinue(); n++) await this.#poll((n % 2) as Place, POLL_S)
    }
    await Promise.all([...senders, polling()])
  }

  /** Sends a message that the clients do not repeat, because such a call has no idempotency key. */
  async #say(place: Place, fromUser: boolean, text: string): Promise<void> {
    const { chatId, bot } = this.chat
    this.#sent.set(text, false)
    const send = this.fleet.once(place)
    const call = fromUser
      ? callerOf(send, this.tenant.place.operatorKey)(contract.platform.sendAsUser, { chatId, text })
      : callerOf(send, bot.token)(contract.bots.send, { chat_id: chatId, text })
    const response: ApiResponse | null = await call.catch(() => null)
    if (response !== null && response.status < 300) this.#sent.set(text, true)
    else this.fleet.sometimes.note('the result of a message is unknown')
  }

  /** Creates an update for the webhook. */
  async #ping(place: Place): Promise<void> {
    const operator = callerOf(this.fleet.once(place), this.tenant.place.operatorKey)
    const input = { botId: this.hooked.id, type: 'ping' } as const
    const response = await operator(contract.platform.addUpdate, input).catch(() => null)
    if (response !== null && response.status < 300) this.#pinged.add((response.data as { update_id: number }).update_id)
  }

  /** Polls once and requires that the ids of updates follow each other. */
  async #poll(place: Place, timeout: number): Promise<number> {
    const call = callerOf(this.fleet.once(place), this.chat.bot.token)
    const offset = this.#offset === 0 ? {} : { offset: this.#offset + 1 }
    const response = await call(contract.bots.updates, { ...offset, timeout }).catch(() => null)
    if (response === null || response.status >= 300) {
      this.fleet.sometimes.note('a poll ended without updates and was repeated')
      await wait(PAUSE_MS)
      return -1
    }
    for (const { update_id: id, ...update } of response.data.items) {
      if (this.#offset !== 0 && id !== this.#offset + 1) {
        this.fleet.wrong.push(`polled update ${id} after ${this.#offset}`)
      }
      this.#offset = id
      const text = (update as { message?: { text?: string } }).message?.text
      if (text === undefined) continue
      if (this.#polled.has(text))
        this.fleet.wrong.push(`message ${text} has updates ${this.#polled.get(text)} and ${id}`)
      this.#polled.set(text, id)
    }
    return response.data.items.length
  }

  /** Requires that the first message after a failover, sent at the other server, ends a poll that waits. */
  async wakeUp(place: Place): Promise<void> {
    const { bot, chatId } = this.waking[place]
    const call = callerOf(this.fleet.patient(place), bot.token)
    const seen = (await call(contract.bots.updates, { limit: 100 })).data.items
    const next = Math.max(0, ...seen.map((it) => it.update_id)) + 1
    const offset = next === 1 ? {} : { offset: next }
    const startedAt = performance.now()
    const waiting = callerOf(this.fleet.once(place), bot.token)(contract.bots.updates, { ...offset, timeout: WAKE_S })
    waiting.catch(() => {})
    await wait(WAITS_AFTER_MS)
    const text = `wake ${this.#made++}`
    const sender = callerOf(this.fleet.patient(other(place)), this.tenant.place.operatorKey)
    await sender(contract.platform.sendAsUser, { chatId, text })
    const polled = await waiting.catch(() => null)
    const ms = performance.now() - startedAt
    // A poll that a further failure of the database ends is repeated by its client, and proves nothing.
    if (polled === null || polled.status >= 300) return
    this.wokenMs.push(ms)
    this.fleet.sometimes.note('a message after a failover ended a poll')
    if (polled.data.items.length === 0 || ms > (this.fleet.patience === 1 ? WOKEN_MS_MAX.quiet : WOKEN_MS_MAX.busy)) {
      this.fleet.wrong.push(`a poll returned ${polled.data.items.length} updates ${Math.round(ms)} ms after its start`)
    }
  }

  /** Polls the rest, and waits for the deliveries. @returns what the database lost or did twice */
  async check(url: string): Promise<string[]> {
    for (let got = -1; got !== 0 && !this.fleet.isOver; ) got = await this.#poll(0, 0)
    const rows = await query<{ text: string; from_bot: number }>(
      url,
      `select text, from_bot from messages where chat_id = '${this.chat.chatId}'`,
    )
    const found: string[] = []
    const stored = new Map<string, number[]>()
    for (const { text, from_bot: fromBot } of rows) stored.set(text, [...(stored.get(text) ?? []), fromBot])
    for (const [text, isAcknowledged] of this.#sent) {
      const senders = stored.get(text) ?? []
      const count = senders.length
      if (count > 1 || (isAcknowledged && count === 0)) found.push(`message ${text} is stored ${count} times`)
      if (senders[0] === 0 && !this.#polled.has(text)) found.push(`message ${text} was not polled`)
    }
    return [...found, ...(await this.#deliveries(url))]
  }

  async #deliveries(url: string): Promise<string[]> {
    const deadline = performance.now() + DELIVERED_MS_MAX
    const read = () =>
      query<{ update_id: string; status: string; attempt_count: number; attempts: number; ok: number }>(
        url,
        `select update_id, status, attempt_count, count(number)::int as attempts,
           (count(number) filter (where status_code = 204))::int as ok
         from deliveries d left join delivery_attempts a on a.delivery_id = d.id
         where d.bot_id = '${this.hooked.id}' group by d.id`,
      )
    let rows = await read()
    while (rows.some((it) => it.status !== 'delivered') && performance.now() < deadline) {
      await wait(200)
      rows = await read()
    }
    const known = new Set(rows.map((it) => Number(it.update_id)))
    const found = [...this.#pinged].filter((id) => !known.has(id)).map((id) => `update ${id} has no delivery`)
    for (const { update_id: id, status, attempt_count: count, attempts, ok } of rows) {
      const received = this.#received.get(Number(id)) ?? 0
      if (count > 1) this.fleet.sometimes.note('a delivery was attempted again')
      if (status !== 'delivered' || ok !== 1) found.push(`delivery of update ${id} is ${status} by ${ok} attempts`)
      if (attempts !== count || received > count || received === 0) {
        found.push(`update ${id} was received ${received} times, with ${attempts} attempts and a count of ${count}`)
      }
    }
    return found
  }

  get counts(): { messages: number; deliveries: number } {
    return { messages: this.#sent.size, deliveries: this.#received.size }
  }
}

/** Starts the receiver of webhooks. */
export async function newReceiver(): Promise<{ receiver: Server; port: number }> {
  const receiver = createServer()
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  return { receiver, port: (receiver.address() as AddressInfo).port }
}
