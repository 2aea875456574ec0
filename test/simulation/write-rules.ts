import type { DeliveryRow, UpdateRow, WebhookRow } from '../../src/domain/bot/rows.js'
import { byId, isDeliverable, isPending, ofBot, type StoredState } from './stored-state.js'

const DAY_MS = 86_400_000
const RETRY_DELAYS_MS = [60_000, 300_000, 900_000, 3_600_000]
const ATTEMPTS_MAX = 5

/** One committed operation. */
export interface Write {
  readonly before: StoredState
  readonly after: StoredState
  /** Time of the server's clock when the operation was queued. */
  readonly queuedAt: number
  /** Time of the server's clock when the operation ran. */
  readonly ranAt: number
  /** Ids below this were confirmed by a poll that has been sent, by bot. */
  readonly confirmedBelow: ReadonlyMap<string, number>
  /** Bots whose owner has sent a call that drops pending updates. */
  readonly dropping: ReadonlySet<string>
  /** When the webhook of a claim was set, by delivery and start of the attempt. */
  readonly claimedFor: ReadonlyMap<string, number>
}

/** A claim of a delivery, or the renewal of a claim. */
export interface Claim {
  readonly delivery: DeliveryRow
  readonly webhook: WebhookRow
  readonly body: string
}

export interface Review {
  readonly violations: readonly string[]
  readonly claims: readonly Claim[]
}

/** Checks one committed operation against the rules of deliveries, updates and vouchers. */
export function reviewWrite(write: Write): Review {
  const claims: Claim[] = []
  const { before, after } = write
  const changed = (...members: (keyof StoredState)[]) => members.some((it) => before[it] !== after[it])
  const violations = [
    ...(changed('deliveries', 'webhooks', 'queues', 'updates', 'bots') ? deliveryViolations(write, claims) : []),
    ...(changed('attempts') ? attemptViolations(write) : []),
    ...(changed('webhooks') ? endpointViolations(write) : []),
    ...(changed('updates', 'queues') ? updateViolations(write) : []),
    ...(changed('vouchers', 'templates', 'redemptions', 'records') ? voucherViolations(write) : []),
  ]
  return { violations, claims }
}

/** Returns the texts of the rules that do not hold. */
const broken = (rules: Readonly<Record<string, boolean>>, subject: string): string[] =>
  Object.entries(rules).flatMap(([rule, holds]) => (holds ? [] : [`${rule}: ${subject}`]))

function* deliveryViolations(write: Write, claims: Claim[]): Generator<string> {
  const { before, after, queuedAt, ranAt } = write
  const claimedBots = new Set<string>()
  for (const row of after.deliveries) {
    const old = byId(before.deliveries, row.id)
    const subject = `update ${row.update_id} of ${row.bot_id}, ${old?.status ?? 'none'} to ${row.status}`
    const update = updateOf(after, row)
    const isManual = row.resume_status !== null
    const webhook = ofBot(after.webhooks, row.bot_id)
    if (row.lease_until !== null && row.lease_until !== old?.lease_until) {
      claimedBots.add(row.bot_id)
      yield* broken(
        {
          'a claim needs a webhook': webhook !== undefined,
          'a claim needs an active bot': byId(after.bots, row.bot_id)?.status === 'active',
          'a claimed delivery is delivering': row.status === 'delivering',
          'a claim needs the body of the update': update !== undefined && update.body !== '',
          'a claim needs a pending update': isManual || (update !== undefined && isPending(after, update)),
        },
        subject,
      )
      if (old !== undefined && old.lease_until === null) yield* freshClaimViolations(write, old, row, subject)
      if (webhook !== undefined && update !== undefined) claims.push({ delivery: row, webhook, body: update.body })
    }
    const isTerminal = row.status === 'delivered' || row.status === 'dead_letter'
    yield* broken(
      {
        'a lease needs a webhook': row.lease_until === null || webhook !== undefined,
        'an attempt in flight has a pending update':
          row.lease_until === null || isManual || (update !== undefined && isPending(after, update)),
        'a manual retry needs a webhook':
          webhook !== undefined || row.status !== 'pending' || !isManual || row.resume_status === 'failed',
        'a delivering delivery has a lease': row.status !== 'delivering' || row.lease_until !== null,
        'the update of an ended delivery is not pending': !isTerminal || update === undefined || update.pending === 0,
        'a delivered delivery stays delivered': !old?.delivered_at || row.delivered_at === old.delivered_at,
        'a failed delivery has a next attempt': row.status !== 'failed' || row.next_attempt_at !== null,
        'a delivered delivery has a successful attempt':
          row.status !== 'delivered' ||
          after.attempts.some((it) => it.delivery_id === row.id && it.error_code === null),
      },
      subject,
    )
    if (old === undefined || old.status === row.status) continue
    const ended = old.status === 'delivering' && old.resume_status === null
    if (row.status === 'failed' && ended && row.attempt_count > old.attempt_count) {
      const delay = RETRY_DELAYS_MS[row.attempt_count - 1] ?? Number.NaN
      const at = row.next_attempt_at ?? 0
      const inTime = at >= (row.last_attempt_at ?? 0) + delay && at <= ranAt + delay
      yield* broken({ 'a retry is scheduled by the number of attempts': inTime }, subject)
    }
    const cancelledAs = (reason: string) => row.status === 'cancelled' && row.cancel_reason === reason
    const isAlive = update !== undefined && isPending(after, update)
    const was = updateOf(before, row)
    const hadBody = was !== undefined && was.body !== ''
    const hasExpired = hadBody && was.created_at <= queuedAt - DAY_MS && old.last_attempt_at === null
    const made = after.attempts.some((it) => it.delivery_id === row.id && it.started_at === old.last_attempt_at)
    const restored = ['delivering', 'pending', 'delivered', 'cancelled', old.resume_status]
    yield* broken(
      {
        'a failed manual retry restores the status':
          old.status !== 'delivering' || old.resume_status === null || restored.includes(row.status),
        'a dead letter had five attempts': row.status !== 'dead_letter' || !ended || row.attempt_count === ATTEMPTS_MAX,
        'a cancelled delivery has a reason': !cancelledAs('webhook_deleted') || webhook === undefined || !isAlive,
        'a dropped update is not pending': !cancelledAs('dropped') || !isAlive,
        'an expired delivery is old and was never attempted': !cancelledAs('expired') || hasExpired || !hadBody,
        'a delivery fails by its present attempt':
          row.status !== 'failed' || old.resume_status !== null || (ended && (made || row.ready === 1)),
        'a delivery is restarted for a webhook':
          old.status !== 'cancelled' || row.status !== 'pending' || webhook !== undefined,
        'a restarted delivery counts from zero':
          old.status !== 'cancelled' || row.status !== 'pending' || row.attempt_count === 0,
        'a dead letter is retried by hand only':
          old.status !== 'dead_letter' || row.status === 'delivered' || row.resume_status === 'dead_letter',
      },
      subject,
    )
  }
  for (const botId of claimedBots) yield* leaseViolations(after, botId)
  for (const old of before.deliveries) {
    const isGone = byId(after.deliveries, old.id) === undefined
    const mayGo = old.created_at < ranAt - 30 * DAY_MS && old.lease_until === null
    if (isGone && !mayGo) yield `a delivery is stored for 30 days: ${old.update_id} of ${old.bot_id}`
  }
}

function* freshClaimViolations(
  { before, after, queuedAt }: Write,
  old: DeliveryRow,
  row: DeliveryRow,
  subject: string,
): Generator<string> {
  const update = updateOf(after, row)
  const isRetry = old.status === 'failed' && row.resume_status === null
  const earlier = after.deliveries.filter(
    (it) =>
      it.bot_id === row.bot_id &&
      it.chat_key === row.chat_key &&
      it.update_id < row.update_id &&
      it.ready === 1 &&
      isDeliverable(after, it),
  )
  yield* broken(
    {
      'a claim waits for the backlog': isDeliverable(before, old),
      'a retry waits for its time': !isRetry || (old.next_attempt_at ?? 0) <= queuedAt,
      'an expired update is not sent':
        old.last_attempt_at !== null || update === undefined || update.created_at > queuedAt - DAY_MS,
      'the updates of a chat are sent in order': earlier.length === 0,
      'only waiting deliveries are claimed': ['pending', 'failed'].includes(old.status),
    },
    subject,
  )
}

function* leaseViolations(after: StoredState, botId: string): Generator<string> {
  const leased = after.deliveries.filter((it) => it.bot_id === botId && it.lease_until !== null)
  const webhook = ofBot(after.webhooks, botId)
  const most = webhook?.failing === 1 ? 1 : (webhook?.max_connections ?? 0)
  const chats = new Set(leased.map((it) => it.chat_key))
  yield* broken(
    {
      'a chat has one delivery in flight': chats.size === leased.length,
      'an endpoint gets as many deliveries as it has connections': leased.length <= most,
    },
    `${leased.length} of ${botId}`,
  )
}

/** What identifies an attempt of which the process knows the result. */
const attemptKey = (it: { delivery_id: string; started_at: number; manual: number }) =>
  `${it.delivery_id} ${it.started_at} ${it.manual}`

function* attemptViolations({ before, after }: Write): Generator<string> {
  const known = after.attempts.filter((it) => it.error_code !== 'lease_expired')
  const old = new Set(before.attempts.map((it) => `${it.delivery_id} ${it.number}`))
  const made = after.attempts.filter((it) => !old.has(`${it.delivery_id} ${it.number}`))
  for (const attempt of made) {
    const row = byId(after.deliveries, attempt.delivery_id)
    const was = byId(before.deliveries, attempt.delivery_id)
    const counted = (it: DeliveryRow | undefined) => (it?.attempt_count ?? 0) + (it?.manual_attempt_count ?? 0)
    const ofDelivery = made.filter((it) => it.delivery_id === attempt.delivery_id).length
    // The result of an attempt that lost its lease counts only if it succeeded or the delivery is cancelled.
    const lostLease = was?.lease_until === null || was?.last_attempt_at !== attempt.started_at
    const isLate = lostLease && was?.status !== 'cancelled'
    const difference = counted(row) - counted(was)
    yield* broken(
      {
        'an attempt is recorded once': known.filter((it) => attemptKey(it) === attemptKey(attempt)).length <= 1,
        'an attempt belongs to a delivery': row !== undefined,
        'an attempt is counted': difference > 0 || isLate,
        'an attempt is counted once': difference <= ofDelivery,
        'a successful attempt delivers': attempt.error_code !== null || row?.delivered_at != null,
      },
      `attempt ${attempt.number} of ${attempt.delivery_id}, ${attempt.error_code}`,
    )
  }
}

/** Failures caused by the server itself. */
const OWN_FAILURES: readonly (string | null)[] = [null, 'aborted', 'lease_expired']

/** Checks the health of endpoints: only their own attempts count, since the webhook was set. */
function* endpointViolations({ before, after, claimedFor }: Write): Generator<string> {
  const known = new Set(before.attempts.map((it) => `${it.delivery_id} ${it.number}`))
  for (const webhook of after.webhooks) {
    const old = ofBot(before.webhooks, webhook.bot_id)
    if (webhook.failing === 0 || old?.failing === 1) continue
    const failed = after.attempts.filter(
      (it) =>
        it.bot_id === webhook.bot_id &&
        !known.has(`${it.delivery_id} ${it.number}`) &&
        claimedFor.get(`${it.delivery_id} ${it.started_at}`) === webhook.set_at &&
        !OWN_FAILURES.includes(it.error_code),
    )
    if (failed.length === 0) yield `an endpoint fails by its own attempts: ${webhook.bot_id}`
  }
}

function* updateViolations({ before, after, ranAt, confirmedBelow, dropping }: Write): Generator<string> {
  for (const queue of after.queues) {
    const old = ofBot(before.queues, queue.bot_id)
    const ids = new Set(before.updates.flatMap((it) => (it.bot_id === queue.bot_id ? [it.update_id] : [])))
    const added = after.updates.filter((it) => it.bot_id === queue.bot_id && !ids.has(it.update_id))
    const isSet = ofBot(after.webhooks, queue.bot_id) !== undefined
    const first = (old?.last_update_id ?? 0) + 1
    const withDelivery = (it: UpdateRow) =>
      after.deliveries.some((other) => other.bot_id === it.bot_id && other.update_id === it.update_id)
    yield* broken(
      {
        'update ids have no gaps':
          added.every((it, index) => it.update_id === first + index) &&
          queue.last_update_id === first - 1 + added.length,
        'an update has a delivery if and only if the bot has a webhook': added.every(
          (it) => withDelivery(it) === isSet,
        ),
      },
      `${added.map((it) => it.update_id)} of ${queue.bot_id}`,
    )
  }
  for (const old of before.updates) {
    const update = updateOf(after, old)
    const subject = `update ${old.update_id} of ${old.bot_id}`
    const delivery = deliveryOf(after, old)
    const wasAttempted = deliveryOf(before, old)?.last_attempt_at != null
    const isOld = old.created_at <= ranAt - DAY_MS
    if (update === undefined) {
      const mayGo = delivery === undefined && old.created_at < ranAt - 30 * DAY_MS
      const hasExpired = isOld && (old.body === '' || (old.pending === 1 && !wasAttempted))
      yield* broken({ 'an update is stored until it expires': mayGo || hasExpired }, subject)
      continue
    }
    const ended = ['delivered', 'dead_letter'].includes(delivery?.status ?? '')
    const confirmed = old.update_id < (confirmedBelow.get(old.bot_id) ?? 0)
    const expired = isOld && !wasAttempted
    yield* broken(
      {
        'an update stays pending until it is delivered, confirmed, dropped or expired':
          old.pending === update.pending || ended || confirmed || dropping.has(old.bot_id) || expired,
        'the body of an update does not change': update.body === old.body || update.body === '',
        'a pending update has its body': update.pending === 0 || update.body !== '',
      },
      subject,
    )
  }
}

function* voucherViolations({ after, before, ranAt }: Write): Generator<string> {
  for (const { id, issued_count: count, issue_limit: limit } of after.templates) {
    const issued = after.vouchers.filter((it) => it.template_id === id).length
    yield* broken({ 'a template counts its vouchers': issued === count, 'a quota is exact': count <= limit }, id)
  }
  for (const voucher of after.vouchers) {
    const valid = after.redemptions.filter((it) => it.voucher_id === voucher.id && it.reversed_at === null)
    const redeemedAt = valid[0]?.redeemed_at ?? voucher.valid_from
    yield* broken(
      {
        'a voucher has one redemption in force if and only if it is redeemed':
          valid.length === (voucher.state === 'redeemed' ? 1 : 0) && (valid[0]?.id ?? null) === voucher.redemption_id,
        'a voucher is redeemed while it is valid': redeemedAt >= voucher.valid_from && redeemedAt < voucher.valid_until,
      },
      voucher.id,
    )
  }
  for (const redemption of after.redemptions) {
    const old = byId(before.redemptions, redemption.id)
    const isFinal = old === undefined || old.reversed_at === null || old.reversed_at === redemption.reversed_at
    if (!isFinal) yield `a redemption is reversed once: ${redemption.id}`
    if (old === undefined) yield* missingUpdates(before, after, 'voucher_redeemed', redemption.id)
    else if (old.reversed_at === null && redemption.reversed_at !== null) {
      yield* missingUpdates(before, after, 'voucher_reversed', redemption.id)
    }
  }
  const records = new Set(after.records.map((it) => `${it.application_id} ${it.idempotency_key}`))
  for (const old of before.records) {
    const isGone = !records.has(`${old.application_id} ${old.idempotency_key}`)
    const mayGo = old.expires_at !== null && old.expires_at <= ranAt
    if (isGone && !mayGo) yield `an idempotency record is stored until it expires: ${old.idempotency_key}`
  }
}

/** Every bot of the simulation is linked to the application. */
function* missingUpdates(before: StoredState, after: StoredState, type: string, subject: string): Generator<string> {
  for (const { bot_id: botId, allowed_updates: allowed, last_update_id: last } of before.queues) {
    const added = after.updates.filter((it) => it.bot_id === botId && it.update_id > last && it.type === type)
    const isWanted = allowed?.includes(type) ?? false
    if (added.length !== (isWanted ? 1 : 0)) yield `a bot gets the updates that it selected: ${type} of ${subject}`
  }
}

const updateOf = (state: StoredState, { bot_id: botId, update_id: id }: Pick<UpdateRow, 'bot_id' | 'update_id'>) =>
  state.updates.find((it) => it.bot_id === botId && it.update_id === id)

const deliveryOf = (state: StoredState, { bot_id: botId, update_id: id }: Pick<UpdateRow, 'bot_id' | 'update_id'>) =>
  state.deliveries.find((it) => it.bot_id === botId && it.update_id === id)
