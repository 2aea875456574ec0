import type { Entry } from './activity-log.js'
import { type AxisRow, callItem, joined } from './axis.js'
import { bytesOf, textOf } from './bytes.js'
import { causeOf, type Sending, type Update, updateRows } from './delivery-rows.js'

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

function textOfLine({ line }: Entry): string {
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
  const left = new Set(steps.filter(({ kind }) => kind === 'request'))
  const sendings = steps.flatMap(({ line, line: { exchange } }) =>
    line.kind === 'delivery' ? [{ ...line.delivery, ...exchange } as Sending & Logged] : [],
  )
  // An update about a voucher does not name the chat, so that only the log has it.
  const others = new Map(sendings.map((it) => [it.delivery_id, it]))
  for (const { id } of stored) others.delete(id)
  const updates = [...stored, ...[...others.values()].map(updateOf)]
  const rows = updates.flatMap((update) => {
    const cause = causeOf(update, left)
    if (cause) left.delete(cause)
    const captured = sendings.filter((it) => it.delivery_id === update.id)
    return joined(cause && callItem(cause), updateRows(update, captured))
  })
  return [...rows, ...[...left].map((it) => [callItem(it)])]
}

type Logged = Extract<Entry['line'], { kind: 'delivery' }>['delivery']

/** An update of which only the log has a delivery. */
const updateOf = ({ delivery_id: id, at, status, ...it }: Sending & Logged) =>
  ({
    ...{ ...it, id, created_at: at, attempts: [], next_attempt_at: null },
    status: status !== null && status < 300 ? 'delivered' : 'failed',
  }) as Update
