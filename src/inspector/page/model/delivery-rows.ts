import type { AttemptExchange, DeliveryDetail } from '../../../contract/platform/deliveries.js'
import type { Delivery, DeliveryAttempt } from '../../../contract/webhook.js'
import type { Entry } from './activity-log.js'
import { type AxisItem, type AxisRow, callItem, captured, joined, msBetween, SOON_MS } from './axis.js'
import { isSuccess } from './filter.js'
import { duration } from './format.js'

/** An attempt or a replay, with what was captured of it. */
export type Sending = Omit<AttemptExchange, 'request' | 'response'> & Partial<AttemptExchange>

const sendingOf = ({ started_at: at, number, status_code: status, ...it }: DeliveryAttempt) =>
  ({ ...it, at, attempt: it.manual ? null : number, replay: false, status }) as Sending

/** The members of a delivery that its rows need. */
export type Update = Pick<
  Delivery,
  'id' | 'update_id' | 'update_type' | 'created_at' | 'status' | 'attempts' | 'next_attempt_at'
>

function kindOf({ attempt, manual, replay }: Sending): string {
  if (replay) return 'replay'
  return attempt === null ? (manual ? 'attempt by hand' : 'sent again') : `attempt ${attempt}`
}

const wordOf = (status: number | null) =>
  status === null ? 'No response' : status < 300 ? 'Accepted' : status === 401 || status === 403 ? 'Refused' : 'Failed'

function responseItem({ at, status, error, duration_ms, response }: Sending): AxisItem {
  const title = wordOf(status)
  const reason = error && error.code !== 'http_status' ? `: ${error.message}` : ''
  const tone = title === 'Accepted' ? 'good' : 'bad'
  const note = duration(duration_ms) + reason
  return { at, lane: 'receiver', title, tone, status, note, messages: captured('Response', response) }
}

/** An update and each attempt to deliver it, with its response; the row of the update has the first attempt. */
export function updateRows(update: Update, exchanges: readonly Sending[] = []): readonly AxisRow[] {
  const { id, update_id, update_type, created_at: at, status: state, next_attempt_at: next } = update
  const others = update.attempts.filter((it) => exchanges.every(({ at }) => at !== it.started_at))
  const sent = [...others.map(sendingOf), ...exchanges].sort((a, b) => msBetween(b.at, a.at))
  const first = sent.find((it) => !it.replay && msBetween(at, it.at) < SOON_MS)
  const item = (at: string, title: string, more: Partial<AxisItem>): AxisItem => ({
    ...{ at, lane: 'platform', title: `Update ${update_id}${title}`, ...more },
  })
  const messages = captured('Update', first?.request)
  const created = item(at, ` ${update_type}`, { tone: 'note', id, state, fault: first?.fault, messages })
  const attemptItem = (it: Sending) => item(it.at, `, ${kindOf(it)}`, { tone: 'note', fault: it.fault })
  return [
    ...(first ? [] : [[created]]),
    ...sent.map((it) => [it === first ? created : attemptItem(it), responseItem(it)]),
    ...(next === null ? [] : [[item(next, ', next attempt', { isFuture: true })]]),
  ]
}

/** Types of updates with the calls that cause them. */
const causes: Readonly<Partial<Record<string, RegExp>>> = {
  message: /sendAsUser$/,
  my_chat_member: /Chat$/,
  voucher_issued: /issue$/,
  voucher_redeemed: /redeem$/,
  voucher_reversed: /reverse$/,
}

/** The call that caused an update: of those that can, the one that ended closest to its creation. */
export function causeOf({ update_type, created_at }: Update, calls: readonly Entry[]): Entry | undefined {
  const distance = ({ at }: Entry) => Math.abs(msBetween(created_at, at))
  const isCause = (it: Entry) => causes[update_type]?.test(it.type) && isSuccess(it) && !it.replayed
  return calls.filter((it) => isCause(it) && distance(it) < SOON_MS).sort((a, b) => distance(a) - distance(b))[0]
}

/** The rows of an update after the call that caused it. */
export function causedRows(update: Update, calls: readonly Entry[], exchanges: readonly Sending[]) {
  const cause = causeOf(update, calls)
  const rows = updateRows(update, exchanges)
  return cause ? joined(callItem(cause), rows) : rows
}

/** A delivery with its cause, its attempts and replays, the responses of the app, and its schedule. */
export function deliveryRows({ delivery, responses, schedule, voucher_id }: DeliveryDetail, log: readonly Entry[]) {
  const ofVoucher = log.filter(({ voucher }) => voucher !== null && voucher === voucher_id)
  const later = schedule.flatMap(({ at, attempt, state }): AxisRow[] => {
    const title = `Update ${delivery.update_id}, attempt ${attempt}`
    const note = 'at the earliest, if those before fail'
    return at && state === 'later' ? [[{ at, lane: 'platform', title, note, isFuture: true }]] : []
  })
  return [...causedRows(delivery, ofVoucher, responses), ...later]
}
