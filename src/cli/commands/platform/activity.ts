import {
  type ActivityLine,
  type CapturedExchange,
  platformActivity as contract,
  type DeliveryActivity,
  HIDDEN,
} from '../../../contract/platform/activity.js'
import { leaf } from '../../command/leaf.js'
import { openStream, operatorTarget, untilBroken } from '../../command/stream-lines.js'
import { toggle } from '../../flags/flags.js'
import { logLine, shownTime } from '../../output/log-line.js'
import type { Outcome } from '../../output/outcome.js'
import type { Screen } from '../../output/screen.js'
import { plainLine, plainMember } from '../../output/text.js'

export const activity = leaf({
  name: 'activity',
  endpoint: contract.activity,
  summary: 'Show the requests and deliveries of the server as they happen',
  notes: [
    'Requests with their responses, attempts of deliveries, and changes of clock, faults and reviews. Of a burst, some lines are left out and counted.',
    `--bodies adds headers and bodies, with ${HIDDEN} in place of secrets. The server keeps them in memory while someone reads them, or from its start with --inspect.`,
  ],
  flags: { follow: toggle('Go on until Ctrl-C'), bodies: toggle('With headers and bodies') },
  examples: ['voucherctl platform activity --follow', 'voucherctl platform activity --follow --bodies -o jsonl'],
  streams: true,
  view: { line: describe },
  run: async (context, { flags }): Promise<Outcome<ActivityLine>> => {
    const target = await operatorTarget(context)
    if (!target.ok) return target
    const input = { follow: flags.follow ? 'true' : 'false', bodies: flags.bodies ? 'true' : 'false' } as const
    const opened = await openStream(context, target.value, contract.activity, input)
    return opened.ok ? { ok: true, lines: untilBroken(opened.value, context.host.signal) } : opened
  },
})

const changes = new Map<string, string>([
  ['clock', 'clock moved'],
  ['faults', 'faults changed'],
  ['reviews', 'reviews changed'],
  ['reset', 'state reset'],
  ['restore', 'snapshot restored'],
  ['seed', 'seed planted'],
])

function describe(line: ActivityLine, screen: Screen): string {
  const { paint, width = Number.POSITIVE_INFINITY } = screen
  if (line.kind === 'omitted') return paint.quiet(`${plainMember(line.count)} more`)
  if (line.kind === 'live') return paint.quiet('live from here')
  if (line.kind === 'state')
    return `${paint.quiet(shownTime(line.at, screen))} ${changes.get(line.what) ?? plainMember(line.what)}`
  if (line.kind === 'request') return [logLine(line.request, screen), ...bodiesOf(line.exchange, width)].join('\n')
  return [deliveryLine(line.delivery, screen), ...bodiesOf(line.exchange, width)].join('\n')
}

function deliveryLine(delivery: DeliveryActivity, screen: Screen): string {
  const { paint } = screen
  const colour = delivery.error === null ? paint.done : paint.error
  const parts = [
    delivery.update_type,
    delivery.delivery_id,
    delivery.attempt === null ? null : `attempt ${plainMember(delivery.attempt)}`,
    delivery.error?.code,
    'fault' in delivery ? `fault ${delivery.fault}` : null,
  ]
  const text = parts.flatMap((part) => (part == null ? [] : plainMember(part))).join(' ')
  const head = [paint.quiet(shownTime(delivery.at, screen)), colour(String(delivery.status ?? '---')), 'SENT  ']
  return `${head.join(' ')} ${paint.quiet(`${delivery.duration_ms.toFixed(1)} ms`.padStart(9))} ${text}`
}

function bodiesOf(exchange: CapturedExchange | null, width: number): string[] {
  const shown = ([mark, body]: readonly [string, string | null | undefined]) =>
    typeof body !== 'string' ? [] : `  ${mark} ${plainLine(Buffer.from(body, 'base64').toString())}`.slice(0, width)
  return [['>', exchange?.request.body] as const, ['<', exchange?.response?.body] as const].flatMap(shown)
}
