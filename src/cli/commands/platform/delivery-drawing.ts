import type { CapturedExchange } from '../../../contract/platform/activity.js'
import type {
  AttemptExchange,
  DeliveryDetail,
  DeliveryHint,
  DeliveryReplay,
} from '../../../contract/platform/deliveries.js'
import type { Paint } from '../../output/colour.js'
import type { Screen, Times } from '../../output/screen.js'
import { plain, plainLine, showRecord, timeInList, withTimes, wrap } from '../../output/text.js'
import { timeline } from '../webhook/deliveries.js'

const requestTitles = {
  last_attempt: 'Signature of the last attempt',
  recomputed: 'Signature of the last attempt, computed again',
  next_attempt: 'Signature that an attempt would have now',
}

/** Draws a delivery: its attempts, the signed text, and why the application may have refused it. */
export function drawDelivery(detail: DeliveryDetail, given: Screen): string {
  const { delivery, bot_name, url, voucher_id, request, schedule, responses, hints } = detail
  // Relative times count from the server's clock, which may be a test clock.
  const screen = { ...given, now: Date.parse(detail.now) }
  const facts = { bot: `${bot_name} (${delivery.bot_id})`, url: url ?? 'none: the bot has no webhook', voucher_id }
  const due = schedule.flatMap(({ at, attempt, state }) =>
    state === 'due' && at !== null ? [`  …  ${timeInList(plainLine(at), screen)}  attempt ${attempt} of 5`] : [],
  )
  const response = responses.findLast((it) => it.response !== null)
  return [
    showRecord(facts, undefined, screen).trimEnd(),
    [timeline({ ...delivery, next_attempt_at: null }, screen), ...due].join('\n'),
    ...(request === null ? [] : [section(requestTitles[request.of], drawSignature(detail, screen), screen)]),
    ...(response === undefined ? [] : [drawResponse(response, responseTitle(response, screen), screen)]),
    ...drawHints(hints, screen),
  ].join('\n\n')
}

/** Draws the response to a replay, and whether a receiver with the server's secret accepts the request. */
export function drawReplay({ exchange, verification, hints }: DeliveryReplay, { paint, width }: Screen): string {
  return [
    ...(exchange.response === null ? [] : [drawResponse(exchange, 'Response', { paint, width })]),
    section('A receiver with the secret of the webhook says', explain(verification), { paint, width }),
    ...drawHints(hints, { paint, width }),
  ].join('\n\n')
}

type Surroundings = { readonly paint: Paint; readonly width: number | undefined }

const explain = ({ explanation, fix }: DeliveryReplay['verification']) =>
  fix === null ? [explanation] : [explanation, fix]

function drawSignature({ signature, verification }: DeliveryDetail, { zone }: Times): string[] {
  if (signature === null) return []
  const { timestamp, prefix, signed_bytes, algorithm, secrets } = signature
  const macs = secrets.flatMap(({ which, signature: mac, sent, until }) => [
    `${which} secret${until === null ? '' : `, until ${withTimes(until, zone)}`}${sent ? '' : ', not sent'}:`,
    mac,
  ])
  return [
    `${algorithm} of ${prefix} and the ${signed_bytes - prefix.length} bytes of the body; X-Platform-Timestamp is ${timestamp}.`,
    ...macs,
    ...(verification === null ? [] : explain(verification)),
  ]
}

const responseTitle = ({ at, replay }: AttemptExchange, { zone }: Times) =>
  `Response to the ${replay ? 'replay' : 'attempt'} of ${withTimes(at, zone)}`

const SHOWN_LINES_MAX = 10
const SHOWN_TEXT_MAX = 1_000

function drawResponse({ response }: CapturedExchange, title: string, surroundings: Surroundings): string {
  const body = Buffer.from(response?.body ?? '', 'base64').toString('utf8')
  const lines = plain(body.slice(0, SHOWN_TEXT_MAX)).split('\n').slice(0, SHOWN_LINES_MAX)
  const type = response?.headers.find(([name]) => name.toLowerCase() === 'content-type')?.[1]
  const head = [String(response?.status), type, `${response?.body_bytes} bytes`].filter((it) => it !== undefined)
  return section(title, [head.join('  '), ...(body === '' ? [] : lines)], surroundings)
}

function drawHints(hints: readonly DeliveryHint[], surroundings: Surroundings): string[] {
  const lines = hints.map(({ text }) => `- ${text}`)
  return lines.length === 0 ? [] : [section('Likely causes, the most certain one first', lines, surroundings)]
}

function section(title: string, lines: readonly string[], { paint, width }: Surroundings): string {
  const room = width === undefined ? Number.POSITIVE_INFINITY : width - 2
  const shown = lines.map(plainLine).flatMap((it) => wrap(it, room, it.startsWith('- ') ? '  ' : ''))
  return [paint.quiet(plainLine(title)), ...shown.map((it) => `  ${it}`.trimEnd())].join('\n')
}
