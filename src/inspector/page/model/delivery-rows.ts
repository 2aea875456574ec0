import type { AttemptExchange, DeliveryDetail } from '../../../contract/platform/deliveries.js'
import type { Delivery, DeliveryAttempt } from '../../../contract/webhook.js'
import type { Entry } from './activity-log.js'
import { type AxisItem, type AxisRow, callItem, joined, msBetween, SOON_MS } from './axis.js'
import { isSuccess } from './filter.js'
import { duration } from './format.js'

/** An attempt or a replay, with what was captured of it. */
export type Sending = Omit<AttemptExchange, 'request' | 'response'> & Partial<AttemptExchange>

const sendingOf = ({ started_at, number, status_code, ...it }: DeliveryAttempt) =>
  ({ ...it, at: started_at, attempt: it.manual ? null : number, replay: false, status: status_code }) as Sending

/** The members of a delivery that the axis shows. */
export type Update = Pick<
  Delivery,
  'id' | 'bot_id' | 'update_id' | 'update_type' | 'created_at' | 'status' | 'attempts' | 'next_attempt_at'
>

function titleOf({ attempt, manual, replay }: Sending): string {
  if (replay) return 'Replay'
  return attempt === null ? (manual ? 'Attempt by hand' : 'Sent again') : `Attempt ${attempt}`
}

const wordOf = (status: number | null) =>
  status === null ? 'No response' : status < 300 ? 'Accepted' : status === 401 || status === 403 ? 'Refused' : 'Failed'

function responseItem({ at, status, error, duration_ms, response }: Sending): AxisItem {
  const reason = error && error.code !== 'http_status' ? `: ${error.message}` : ''
  return {
    ...{ at, lane: 'receiver', title: wordOf(status), tone: status !== null && status < 300 ? 'good' : 'bad', status },
    note: duration(duration_ms) + reason,
    ...(response && { messages: [{ title: 'Response', message: response }] }),
  }
}

/** An update and each attempt to deliver it, with its response; the row of the update has the first attempt. */
export function updateRows(update: Update, captured: readonly Sending[] = []): AxisRow[] {
  const { id, bot_id, update_id, update_type, created_at: at, status: state, next_attempt_at: next } = update
  const isCaptured = (it: DeliveryAttempt) => captured.some(({ at }) => at === it.started_at)
  const sent = [...update.attempts.filter((it) => !isCaptured(it)).map(sendingOf), ...captured]
  const rows = sent
    .sort((a, b) => msBetween(b.at, a.at))
    .map((it): AxisRow => {
      const title = `${titleOf(it)} of update ${update_id}`
      return [{ at: it.at, lane: 'platform', title, tone: 'note', fault: it.fault }, responseItem(it)]
    })
  const [first] = sent
  const isAtOnce = first !== undefined && !first.replay && msBetween(at, first.at) < SOON_MS
  const request = isAtOnce ? first.request : undefined
  const created: AxisItem = {
    ...{ at, lane: 'platform', title: `Update ${update_id} ${update_type}`, tone: 'note', id, state },
    facts: [
      ['bot', bot_id],
      ['delivery', id],
    ],
    ...(isAtOnce && { fault: first.fault }),
    ...(request && { messages: [{ title: 'Update', message: request }] }),
  }
  if (isAtOnce) rows[0] = [created, ...(rows[0] ?? []).slice(1)]
  else rows.unshift([created])
  return next === null ? rows : [...rows, [future(next, `Next attempt of update ${update_id}`)]]
}

const future = (at: string, title: string, note?: string): AxisItem => ({
  ...{ at, lane: 'platform', title, isFuture: true },
  ...(note !== undefined && { note }),
})

/** Types of updates with the calls that cause them. */
const causes: Readonly<Partial<Record<string, RegExp>>> = {
  message: /sendAsUser$/,
  my_chat_member: /Chat$/,
  voucher_issued: /issue$/,
  voucher_redeemed: /redeem$/,
  voucher_reversed: /reverse$/,
}

/** The call that caused an update, if it is among these. */
export const causeOf = ({ update_type, created_at }: Update, calls: Iterable<Entry>): Entry | undefined =>
  [...calls].find(
    (it) =>
      causes[update_type]?.test(it.type) &&
      isSuccess(it) &&
      !it.replayed &&
      Math.abs(msBetween(created_at, it.at)) < SOON_MS,
  )

/** A delivery with its cause, its attempts and replays, the responses of the app, and its schedule. */
export function deliveryRows({ delivery, responses, schedule, voucher_id }: DeliveryDetail, log: readonly Entry[]) {
  const cause = causeOf(
    delivery,
    log.filter(({ voucher }) => voucher !== null && voucher === voucher_id),
  )
  const later = schedule.flatMap(({ at, attempt, state }): AxisRow[] =>
    at && state === 'later' ? [[future(at, `Attempt ${attempt}`, 'at the earliest, if those before fail')]] : [],
  )
  return [...joined(cause && callItem(cause), updateRows(delivery, responses)), ...later]
}
