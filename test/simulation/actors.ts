import type { InputOf } from '../../src/contract/endpoint.js'
import { contract } from '../../src/contract/index.js'
import type { UpdateType } from '../../src/contract/updates.js'
import type { Redemption } from '../../src/contract/vouchers.js'
import type { OpenWebhook } from '../../src/server/delivery/signing.js'
import type { Random } from '../faults/random.js'
import { ACCOUNT_JWT, type SimulatedServer } from './simulated-server.js'
import { isPending, ofBot } from './stored-state.js'

/** Longest time in ms in which the simulated store finishes the operations of one call. */
export const CALL_MS_MAX = 15_000

const DAY_MS = 86_400_000

/** A bot of the simulation. */
export interface SimulatedBot {
  readonly id: string
  token: string
  readonly chats: readonly string[]
  /** Polls that have been sent and have no response yet. */
  readonly polls: Set<{ readonly sentAt: number }>
  /** Ids below this are known to be confirmed. */
  confirmedBelow: number
  webhooksSet: number
}

export interface Actor {
  readonly server: SimulatedServer
  readonly random: Random
}

const violate = ({ server }: Actor, text: string) => server.violations.push(text)

/** Creates updates. */
export async function produce(actor: Actor, bot: SimulatedBot): Promise<void> {
  const { server, random } = actor
  const operator = server.operatorKey
  const response = random.chance(0.4)
    ? await server.call(operator, contract.platform.addUpdate, { botId: bot.id, type: 'ping', payload: {} })
    : await server.call(operator, contract.platform.sendAsUser, { chatId: random.pick(bot.chats), text: 'hello' })
  if (response?.status !== 200) return
  const added = response.data as { update_id?: number }
  if (added.update_id === undefined) return
  const isStored = server.updates.has(`${bot.id} ${added.update_id}`)
  if (!isStored) violate(actor, `an acknowledged update is stored: ${added.update_id} of ${bot.id}`)
}

/** Sets, changes or deletes the webhook of a bot. No other actor does so for this bot. */
export async function manageWebhook(actor: Actor, bot: SimulatedBot): Promise<void> {
  const { server, random } = actor
  const drops = random.chance(0.1)
  if (drops) server.dropping.add(bot.id)
  if (random.chance(0.3)) {
    const response = await server.call(ACCOUNT_JWT, contract.webhook.delete, {
      botId: bot.id,
      ...(drops ? { drop_pending_updates: true } : {}),
    })
    const isSet = ofBot(server.state.webhooks, bot.id) !== undefined
    if (response?.status === 200 && isSet) violate(actor, `a deleted webhook is gone: ${bot.id}`)
    return
  }
  const number = random.chance(0.3) && bot.webhooksSet > 0 ? bot.webhooksSet : ++bot.webhooksSet
  const url = `https://hooks.example.com/${bot.id}/${number}`
  server.botOfUrl.set(url, bot.id)
  const sentAt = server.scheduler.now
  const held = [...bot.polls].filter((it) => it.sentAt < sentAt - CALL_MS_MAX)
  const sentStep = server.scheduler.steps
  const wasPolled = bot.polls.size > 0
  const input: InputOf<typeof contract.webhook.set> = {
    botId: bot.id,
    url,
    ...(random.chance(0.7) ? { secret_token: `secret-${random.below(4)}-of-${bot.id}` } : {}),
    ...(random.chance(0.4) ? { secret_grace_seconds: random.pick([0, 60, 600]) } : {}),
    ...(random.chance(0.5) ? { max_connections: random.between(1, 3) } : {}),
    ...(random.chance(0.4) ? { allowed_updates: random.pick(SELECTIONS) } : {}),
    ...(drops ? { drop_pending_updates: true } : {}),
  }
  const before = server.webhookOf(bot.id)
  const sentClock = server.clock.now()
  const response = random.chance(0.7)
    ? await server.call(ACCOUNT_JWT, contract.webhook.set, input)
    : await setAsBot(actor, bot, input)
  if (response?.status === 200) {
    const isHeld = held.some((it) => bot.polls.has(it)) && server.stoppedStep < sentStep
    if (isHeld && !isSince(server, bot, sentStep)) violate(actor, `a held poll prevents a webhook: ${bot.id}`)
    const webhook = server.webhookOf(bot.id)
    if (webhook === null || !isAsRequested(webhook, before, input, sentClock)) {
      violate(actor, `an acknowledged webhook is stored: ${url}`)
    }
  }
  if (response?.code === 'POLLING_ACTIVE' && !wasPolled && bot.polls.size === 0 && server.stoppedStep < sentStep) {
    violate(actor, `a webhook is refused only during a poll: ${url}`)
  }
}

/** Lists for `allowed_updates`; the empty one selects the default types. */
const SELECTIONS: (UpdateType[] | [])[] = [
  [],
  ['ping', 'message', 'voucher_redeemed', 'voucher_reversed'],
  ['message', 'voucher_issued', 'voucher_redeemed'],
]

/** Compares a stored webhook with the call that set it, and with the webhook before the call. */
function isAsRequested(
  { row, url, secret, oldSecret }: OpenWebhook,
  before: OpenWebhook | null,
  input: InputOf<typeof contract.webhook.set>,
  sentAt: number,
): boolean {
  const wanted = input.secret_token ?? before?.secret ?? secret
  const graceMs = (input.secret_grace_seconds ?? 0) * 1000
  const isChanged = before !== null && before.secret !== wanted
  const hasOld = isChanged && graceMs > 0
  const until = row.old_secret_until ?? 0
  return (
    url === input.url &&
    secret === wanted &&
    row.max_connections === (input.max_connections ?? before?.row.max_connections ?? row.max_connections) &&
    (!isChanged || oldSecret === (hasOld ? before.secret : null)) &&
    (!hasOld || until >= sentAt + graceMs) &&
    (isChanged || before === null || oldSecret === before.oldSecret)
  )
}

const setAsBot = ({ server }: Actor, { token }: SimulatedBot, input: InputOf<typeof contract.webhook.set>) => {
  const { botId: _, ...rest } = input
  return server.call(token, contract.webhook.setByBot, rest)
}

/** True if a bot has had a webhook since `step`. */
const isSince = (server: SimulatedServer, bot: SimulatedBot, step: number): boolean =>
  (server.calledSince.get(bot.id) ?? step) < step

/** Retries a delivery by hand. */
export async function retryDelivery(actor: Actor, bot: SimulatedBot): Promise<void> {
  const { server, random } = actor
  const rows = server.state.deliveries.filter((it) => it.bot_id === bot.id)
  if (rows.length === 0) return
  const deliveryId = random.pick(rows).id
  await server.call(ACCOUNT_JWT, contract.webhook.retry, { botId: bot.id, deliveryId, force: random.chance(0.5) })
}

/** Replaces the token of a bot; afterwards the old token must be refused. */
export async function replaceToken(actor: Actor, bot: SimulatedBot): Promise<void> {
  const { server } = actor
  const old = bot.token
  const held = new Set(bot.polls)
  const response = await server.call(ACCOUNT_JWT, contract.bots.regenerateToken, { botId: bot.id })
  if (response?.status !== 200) return
  bot.token = response.data.one_time_token
  const refused = await server.call(old, contract.webhook.info, {})
  if (refused !== null && refused.status !== 503 && refused.code !== 'TOKEN_REVOKED') {
    violate(actor, `a replaced token is refused: ${refused.text}`)
  }
  const stepBefore = server.stoppedStep
  await server.scheduler.sleep(CALL_MS_MAX)
  if (server.stoppedStep > stepBefore) return
  for (const poll of held) if (bot.polls.has(poll)) violate(actor, `a replaced token ends polls: ${bot.id}`)
}

/** Disables a bot for a while. Meanwhile its token must be refused, and its polls must end. */
export async function disableBot(actor: Actor, bot: SimulatedBot): Promise<void> {
  const { server, random } = actor
  const operator = server.operatorKey
  const held = new Set(bot.polls)
  const response = await server.call(operator, contract.platform.disableBot, { botId: bot.id })
  if (response?.status === 200) {
    const refused = await server.call(bot.token, contract.webhook.info, {})
    if (refused !== null && ![503, 401].includes(refused.status) && refused.code !== 'BOT_DISABLED') {
      violate(actor, `a disabled bot is refused: ${refused.text}`)
    }
    const stepBefore = server.stoppedStep
    await server.scheduler.sleep(CALL_MS_MAX)
    for (const poll of held) {
      if (bot.polls.has(poll) && server.stoppedStep === stepBefore)
        violate(actor, `a disabled bot cannot poll: ${bot.id}`)
    }
  }
  await server.scheduler.sleep(random.below(60_000))
  for (;;) {
    const enabled = await server.call(operator, contract.platform.enableBot, { botId: bot.id })
    if (enabled?.status === 200 || enabled?.status === 409) return
    await server.scheduler.sleep(1_000)
  }
}

/** Polls once and checks which updates the response has. */
export async function poll(actor: Actor, bot: SimulatedBot): Promise<void> {
  const { server, random } = actor
  const { scheduler } = server
  const next = (ofBot(server.state.queues, bot.id)?.last_update_id ?? 0) + 1
  const near = Math.min(next, bot.confirmedBelow + random.below(4))
  const offset = random.chance(0.6) ? near : random.chance(0.4) ? random.between(0, next) : undefined
  // Less than the updates that one operation scans (bundle.js).
  const limit = random.pick([1, 2, 4])
  const timeout = random.pick([0, 0, 5, 20, 50])
  const sent = { sentAt: scheduler.now, step: scheduler.steps, clock: server.clock.now() }
  const older = [...bot.polls].filter((it) => it.sentAt < sent.sentAt - CALL_MS_MAX)
  if (offset !== undefined) {
    server.confirmedBelow.set(bot.id, Math.max(offset, server.confirmedBelow.get(bot.id) ?? 0))
  }
  bot.polls.add(sent)
  const input = { limit, timeout, ...(offset === undefined ? {} : { offset }) }
  const response = await server.call(bot.token, contract.bots.updates, input)
  bot.polls.delete(sent)
  if (response === null) return
  const subject = `poll of ${bot.id} from ${offset} in step ${sent.step}`
  const isStopped = server.stoppedStep > sent.step
  if (isSince(server, bot, sent.step) && response.status === 200)
    violate(actor, `a bot with a webhook cannot poll: ${subject}`)
  if (response.status !== 200) return
  for (const it of older) {
    if (bot.polls.has(it) && scheduler.now > sent.sentAt + CALL_MS_MAX && !isStopped)
      violate(actor, `a newer poll ends the older one: ${subject}`)
  }
  const items = response.data.items as { update_id: number }[]
  const ids = items.map((it) => it.update_id)
  const isAscending = ids.every((id, index) => index === 0 || id > (ids[index - 1] as number))
  if (!isAscending || ids.length > limit) violate(actor, `a poll returns updates in order: ${subject}, ${ids}`)
  for (const item of items) {
    const life = server.updates.get(`${bot.id} ${item.update_id}`)
    const isStale = life !== undefined && life.endedStep < sent.step
    if (life?.body !== JSON.stringify(item)) violate(actor, `a poll returns the stored text: ${subject}`)
    if (isStale) violate(actor, `a poll returns no update that is delivered, confirmed or dropped: ${subject}, ${ids}`)
    const row = server.state.updates.find((it) => it.bot_id === bot.id && it.update_id === item.update_id)
    const wasAttempted = server.state.deliveries.some(
      (it) => it.bot_id === bot.id && it.update_id === item.update_id && it.last_attempt_at !== null,
    )
    const hasExpired = row !== undefined && row.created_at <= sent.clock - DAY_MS && !wasAttempted
    if (hasExpired) violate(actor, `a poll returns no expired update: ${subject}, ${item.update_id}`)
    if (item.update_id < (offset ?? 0)) violate(actor, `a poll returns no update before its offset: ${subject}, ${ids}`)
  }
  if (isStopped || ids.length === limit) return
  // An empty poll has waited: it must have seen every update that was committed before its timeout.
  const last = ids.at(-1) ?? Number.POSITIVE_INFINITY
  const seenUntil = ids.length > 0 ? sent.sentAt : sent.sentAt + timeout * 1000
  for (const update of server.state.updates) {
    const { bot_id: botId, update_id: id } = update
    if (botId !== bot.id || id < (offset ?? 0) || id > last || ids.includes(id) || !isPending(server.state, update))
      continue
    const life = server.updates.get(`${botId} ${id}`)
    const isAlive = update.created_at > server.clock.now() - DAY_MS
    const isEarlier =
      (life?.step ?? Number.POSITIVE_INFINITY) < sent.step || (life?.at ?? Number.POSITIVE_INFINITY) < seenUntil
    if (isAlive && isEarlier) violate(actor, `a poll returns every pending update: ${subject} lacks ${id}, got ${ids}`)
  }
  const isConfirmed = offset !== undefined && offset > bot.confirmedBelow
  bot.confirmedBelow = isConfirmed ? offset : bot.confirmedBelow
  if (ids.length > 0)
    bot.confirmedBelow = Math.max(bot.confirmedBelow, random.chance(0.7) ? (ids.at(-1) as number) + 1 : 0)
}

interface KeyedCall {
  readonly key: string
  /** Repeats the call with its idempotency key. */
  send(): ReturnType<SimulatedServer['call']>
  readonly madeAt: number
  sameness: string | null
}

/** A cashier, who issues, redeems and reverses vouchers and repeats calls with the same idempotency key. */
export class Cashier {
  readonly #calls: KeyedCall[] = []
  readonly #credentials: string[] = []
  readonly #redemptions: string[] = []
  readonly #actor: Actor
  readonly #name: string
  readonly #token: string
  readonly #templateIds: readonly string[]
  #made = 0

  constructor(actor: Actor, name: string, token: string, templateIds: readonly string[]) {
    this.#actor = actor
    this.#name = name
    this.#token = token
    this.#templateIds = templateIds
  }

  async act(): Promise<void> {
    const { random } = this.#actor
    const choice = random.below(10)
    if (choice < 3) await this.#issue()
    else if (choice < 6 && this.#credentials.length > 0) await this.#redeem()
    else if (choice < 7 && this.#redemptions.length > 0) await this.#reverse()
    else if (this.#calls.length > 0) await this.#repeat(random.pick(this.#calls))
  }

  async #issue(): Promise<void> {
    const { random } = this.#actor
    const input = {
      template_id: random.pick(this.#templateIds),
      external_issue_id: `issue-${random.below(12)}`,
      recipient_user_id: 'user-1',
    }
    const issued = await this.#make((key) => this.#call(contract.vouchers.issue, input, key))
    const code = issued?.credentials.find((it) => it.type === 'redeem_code')?.value
    if (code !== undefined) this.#credentials.push(code)
  }

  async #redeem(): Promise<void> {
    const value = this.#actor.random.pick(this.#credentials)
    const input = { credential: { type: 'redeem_code' as const, value } }
    const redeemed = await this.#make((key) => this.#call(contract.vouchers.redeem, input, key))
    if (redeemed !== null) this.#note(redeemed)
  }

  async #reverse(): Promise<void> {
    const redemptionId = this.#actor.random.pick(this.#redemptions)
    await this.#make((key) => this.#call(contract.vouchers.reverse, { redemptionId }, key))
  }

  #note({ id }: Redemption): void {
    this.#redemptions.push(id)
    const isStored = this.#actor.server.state.redemptions.some((it) => it.id === id)
    if (!isStored) violate(this.#actor, `an acknowledged redemption is stored: ${id}`)
  }

  #call<E extends (typeof contract.vouchers)['issue' | 'redeem' | 'reverse']>(
    endpoint: E,
    input: InputOf<E>,
    key: string,
  ) {
    return this.#actor.server.call(this.#token, endpoint, input, key)
  }

  async #make<T>(
    send: (key: string) => Promise<{ status: number; sameness: string; data: T } | null>,
  ): Promise<T | null> {
    const key = `${this.#name}-${++this.#made}`
    const call: KeyedCall = {
      key,
      send: () => send(key) as ReturnType<SimulatedServer['call']>,
      madeAt: this.#actor.server.clock.now(),
      sameness: null,
    }
    this.#calls.push(call)
    return (await this.#repeat(call)) as T | null
  }

  /** Sends a call; while it is young, every success must be the same. */
  async #repeat(call: KeyedCall): Promise<unknown> {
    const response = await call.send()
    if (response === null || response.status >= 400) {
      const isLost = call.sameness !== null && response !== null && ![503, 401, 403].includes(response.status)
      if (isLost && this.#isYoung(call)) violate(this.#actor, `a retry gets the first response: ${response.text}`)
      return null
    }
    if (call.sameness !== null && call.sameness !== response.sameness && this.#isYoung(call)) {
      violate(this.#actor, `a retry gets the first response: ${response.text} after ${call.sameness}`)
    }
    call.sameness ??= response.sameness
    return response.data
  }

  #isYoung({ madeAt }: KeyedCall): boolean {
    return this.#actor.server.clock.now() < madeAt + 29 * DAY_MS
  }
}
