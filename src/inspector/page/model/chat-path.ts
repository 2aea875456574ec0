import type { Entry } from './activity-log.js'
import { bytesOf, textOf } from './bytes.js'

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

/** Maximum number of steps of a chat in the page. */
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

/** Names a step: the call, or the update and the attempt of its delivery. */
export function stepTitle({ type, line }: Entry): string {
  if (line.kind === 'request') return type
  const { update_id, attempt, replay } = line.delivery
  return `Update ${update_id} ${type}${replay ? ', replay' : (attempt ?? 1) > 1 ? `, attempt ${attempt}` : ''}`
}
