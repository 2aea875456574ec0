import type { DeliveryActivity } from '../../../contract/platform/activity.js'
import type { Entry } from './activity-log.js'
import { type AxisRow, callItem } from './axis.js'
import { bytesOf, textOf } from './bytes.js'
import { causedRows, causeOf, type Sending, type Update } from './delivery-rows.js'

/** Calls that change a chat or that give a bot its updates. */
const calls =
  /^(platform\.(createChat|sendAsUser|(un)?blockChat)|bots\.(send|issue|updates)|vouchers\.(redeem|reverse))$/

/** True for a call or a delivery that may belong to a chat. */
export const isOfSomeChat = ({ kind, type }: Entry): boolean => kind === 'delivery' || calls.test(type)

interface ChatScope {
  readonly chat: string
  readonly bot: string
  /** Vouchers that were delivered into the chat. */
  readonly vouchers: readonly string[]
}

/** Texts of captured messages: decoded once, because the log has up to 10,000 entries. */
const texts = new WeakMap<Entry['line'], string>()

/** URL and bodies of a captured message. */
export function textOfLine({ line }: Entry): string {
  const known = texts.get(line)
  if (known !== undefined) return known
  const { request, response } = line.exchange ?? {}
  const bodies = [request?.body, response?.body].map((it) => (it ? (textOf(bytesOf(it)) ?? '') : ''))
  const text = [request?.url ?? '', ...bodies].join('\n')
  texts.set(line, text)
  return text
}

/** Maximum number of calls and deliveries of a chat from the log. */
const STEPS_MAX = 50

/** The calls and deliveries of a chat, newest first. */
export function stepsOf(entries: readonly Entry[], { chat, bot, vouchers }: ChatScope): Entry[] {
  const steps: Entry[] = []
  for (let index = entries.length - 1; index >= 0 && steps.length < STEPS_MAX; index--) {
    const entry = entries[index] as Entry
    if (!isOfSomeChat(entry) || (entry.kind === 'delivery' && entry.owner !== bot)) continue
    const isOfVoucher = entry.voucher !== null && vouchers.includes(entry.voucher)
    if (isOfVoucher || textOfLine(entry).includes(chat)) steps.push(entry)
  }
  return steps
}

/** The updates of a chat with their causes and deliveries, and its other calls. */
export function chatRows(steps: readonly Entry[], stored: readonly Update[]): readonly AxisRow[] {
  const calls = steps.filter(({ kind }) => kind === 'request')
  const sendings = steps.flatMap(({ line }) =>
    line.kind === 'delivery' ? [{ ...line.delivery, ...line.exchange }] : [],
  )
  // An update about a voucher does not name the chat, so that only the log has its delivery.
  const logged = new Map(sendings.map((it) => [it.delivery_id, updateOf(it)]))
  // Attempts that are due later would stand above all that happened: the page of a delivery has each, a chat the first.
  const next = stored.flatMap((it) => it.next_attempt_at ?? []).sort()[0]
  const shown = stored.findLast((it) => it.next_attempt_at === next)
  for (const it of stored) logged.set(it.id, it === shown ? it : { ...it, next_attempt_at: null })
  const updates = [...logged.values()]
  const known = updates.map((it) => causeOf(it, calls))
  const exchangesOf = ({ id }: Update) => sendings.filter((it) => it.delivery_id === id) as readonly Sending[]
  return [
    ...updates.flatMap((it) => causedRows(it, calls, exchangesOf(it))),
    ...calls.filter((it) => !known.includes(it)).map((it) => [callItem(it)]),
  ]
}

const updateOf = ({ delivery_id: id, at, status, ...it }: DeliveryActivity) =>
  ({
    ...{ ...it, id, created_at: at, attempts: [], next_attempt_at: null },
    status: status !== null && status < 300 ? 'delivered' : 'failed',
  }) as Pick<DeliveryActivity, 'update_id' | 'update_type'> as Update
