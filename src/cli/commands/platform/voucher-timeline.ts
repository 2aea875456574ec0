import type { VoucherEvent, VoucherHistory } from '../../../contract/platform/voucher-history.js'
import type { Paint } from '../../output/colour.js'
import type { Screen } from '../../output/screen.js'
import { plainLine, showRecord, timeInList, wrap } from '../../output/text.js'
import { refusalReasons } from '../vouchers/verify.js'
import { timeline } from '../webhook/deliveries.js'

const members = ['name', 'templateId', 'applicationId', 'recipientUserId', 'externalIssueId', 'codeHint', 'validUntil']

/** Draws a voucher and its events from top to bottom, the oldest first. */
export function drawHistory(history: VoucherHistory, given: Screen): string {
  const { voucher, events, older_redemptions, log_since, server_started_at } = history
  // Relative times count from the server's clock, which may be a test clock.
  const screen = { ...given, now: Date.parse(history.now) }
  const { paint, width } = screen
  const at = (instant: string) => timeInList(plainLine(instant), screen)
  const since =
    log_since === server_started_at
      ? `the server started, ${at(server_started_at)}`
      : `${at(log_since)}, the beginning of the log of its last 1000 requests`
  const notes = [
    ...(older_redemptions ? ['Only the newest redemptions are shown.'] : []),
    `* Verifications and replays are known since ${since}.`,
  ]
  const isOpen = voucher.status === 'issued'
  const drawn = events.map((it, index) => drawEvent(it, screen, isOpen || index < events.length - 1))
  const expiry = isOpen ? [paint.quiet(`◌ expires    ${at(voucher.validUntil)}`)] : []
  return [
    showRecord(voucher, members, screen),
    ...drawn,
    ...expiry,
    '',
    ...notes.flatMap((it) => wrap(it, width ?? Number.POSITIVE_INFINITY)).map(paint.quiet),
  ].join('\n')
}

const TYPE_WIDTH = 10
const LABEL_WIDTH = 12

function drawEvent(event: VoucherEvent, screen: Screen, continues: boolean): string {
  const { paint, width } = screen
  const { type, at, stored, updates } = event
  const colour = colourOf(event, paint)
  const name = (stored ? type : `${type} *`).padEnd(TYPE_WIDTH)
  const head = [`${colour(`${stored ? '●' : '○'} ${name}`)} ${timeInList(plainLine(at), screen)}`, outcomeOf(event)]
  const rail = paint.quiet(continues ? '│' : ' ')
  const room = width === undefined ? Number.POSITIVE_INFINITY : width - LABEL_WIDTH - 2
  const details = detailsOf(event).flatMap(([label, value]) =>
    fold(plainLine(value), room).map(
      (it, line) => `${rail} ${paint.quiet((line === 0 ? label : '').padEnd(LABEL_WIDTH))}${it}`,
    ),
  )
  const sent = updates.flatMap(({ bot_id, update_id, type: updateType, pending, delivery }) => [
    `${rail} ${paint.quiet('update of'.padEnd(LABEL_WIDTH))}${plainLine(bot_id)}`,
    ...(delivery === null
      ? [`${rail}   #${update_id}  ${plainLine(updateType)}  ${pending ? 'not polled yet' : 'not waiting any more'}`]
      : timeline(delivery, screen)
          .split('\n')
          .map((it) => `${rail}   ${paintMark(it, paint)}`)),
  ])
  return [head.filter((it) => it !== undefined).join('  '), ...details, ...sent, ...(continues ? [rail] : [])]
    .map((it) => it.trimEnd())
    .join('\n')
}

function colourOf({ type, stored }: VoucherEvent, paint: Paint): (text: string) => string {
  if (!stored) return paint.hint
  if (type === 'expired') return paint.error
  return type === 'reversed' ? paint.status : paint.done
}

function outcomeOf({ type, endpoint, reason }: VoucherEvent): string | undefined {
  if (type === 'replayed') return plainLine(String(endpoint))
  if (type !== 'verified') return undefined
  return reason === null ? 'redeemable' : `not redeemable: ${plainLine(refusalReasons[reason] ?? reason)}`
}

function detailsOf(event: VoucherEvent): [label: string, value: string][] {
  const { token_prefix, token_name, message } = event
  const token = token_prefix === null ? null : `${token_prefix}…${token_name === null ? '' : ` (${token_name})`}`
  const rows: [string, string | null][] = [
    ['redemption', event.redemption_id],
    ['reference', event.reference],
    ['reason', event.type === 'reversed' ? event.reason : null],
    ['bot', event.bot_id],
    ['by', event.by_operator ? 'the operator' : null],
    ['token', token],
    ['request', event.request_id],
    ['key', event.idempotency_key],
    ['message', message === null ? null : `${message.message_id} in ${message.chat_id}`],
  ]
  return rows.filter((it): it is [string, string] => it[1] !== null && it[1] !== '')
}

/** Breaks a text into lines, also inside a word: idempotency keys have up to 255 characters and no spaces. */
function fold(text: string, room: number): string[] {
  return wrap(text, room).flatMap((line) =>
    line.length <= room
      ? [line]
      : Array.from({ length: Math.ceil(line.length / room) }, (_, at) => line.slice(at * room, (at + 1) * room)),
  )
}

const paintMark = (line: string, paint: Paint) =>
  line.replace(
    /^( +)([✓✗])/,
    (_, indent: string, mark: string) => indent + (mark === '✓' ? paint.done(mark) : paint.error(mark)),
  )
