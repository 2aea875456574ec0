import type { InputOf } from '../../../contract/endpoint.js'
import { type ActivityLine, platformActivity } from '../../../contract/platform/activity.js'
import { platformControls } from '../../../contract/platform/controls.js'
import { platformDeliveries } from '../../../contract/platform/deliveries.js'
import { platform } from '../../../contract/platform/platform.js'
import { platformVouchers } from '../../../contract/platform/voucher-history.js'
import type { Static } from '../../../contract/schema.js'
import { openStream, untilBroken } from '../../command/stream-lines.js'
import type { Failure } from '../../failures/failure.js'
import { limited, send } from './session.js'
import type { Next, ToolCall } from './tool.js'

/** Recent problems that a state names, of each kind. */
const PROBLEMS_MAX = 5

/** Reads what a session begins with: clock, faults, reviews, and the recent calls and deliveries that failed. */
export async function readState(call: ToolCall) {
  const { context, isLocal } = call
  const base = context.baseUrl()
  if (!base.ok) return base
  const known = { base_url: base.value, is_local: isLocal, may_change: call.refuseWrite() === undefined }
  const faults = await send(call, platformControls.faults, {})
  // Other platforms have no operator API.
  if (!faults.ok && !isLocal && (faults.code === 'CREDENTIAL_REQUIRED' || faults.status !== null)) {
    const data = { ...known, clock: null, faults: [], reviews: 0, failed_deliveries: [], refused_calls: [] }
    return { ok: true as const, text: 'Nothing more is known without an operator key; `call` reads.', data }
  }
  if (!faults.ok) return faults
  const [clock, reviews, deliveries, refused] = await Promise.all([
    send(call, platformControls.getClock, {}),
    send(call, platform.reviews, {}),
    send(call, platformDeliveries.deliveries, { limit: 100 }),
    readLines(call, platformActivity.requests, {}),
  ])
  if (!reviews.ok) return reviews
  if (!deliveries.ok) return deliveries
  if (!refused.ok) return refused
  const failing = deliveries.value.items.filter((it) => it.status === 'failed' || it.status === 'dead_letter')
  const calls = refused.value.filter((it) => it.code !== null && !it.endpoint?.startsWith('platform.'))
  const data = {
    ...known,
    clock: clock.ok ? clock.value : null,
    faults: faults.value.items,
    reviews: reviews.value.items.length,
    failed_deliveries: failing.slice(0, PROBLEMS_MAX),
    refused_calls: calls.slice(-PROBLEMS_MAX).reverse(),
  }
  const next = [
    ...data.failed_deliveries.map((it) => explain('explain_delivery', { delivery_id: it.id }, 'a delivery failed')),
    ...data.refused_calls.map((it) => explain('explain_refusal', { request_id: it.request_id }, 'a call was refused')),
  ]
  const text = `${next.length === 0 ? 'No recent problem' : `${next.length} recent problems`}; ${data.faults.length} faults are set.`
  return { ok: true as const, text, data, next }
}

const explain = (tool: string, input: Next['arguments'], why: string): Next => ({ tool, arguments: input, why })

/** Reads all lines of a stream that the server has now. */
export async function readLines<E extends typeof platformActivity.requests | typeof platformActivity.activity>(
  { context }: Pick<ToolCall, 'context'>,
  endpoint: E,
  input: Readonly<Record<string, 'true' | 'false'>>,
  isLast: (line: Line<E>) => boolean = () => false,
  signal: AbortSignal = context.host.signal,
): Promise<{ readonly ok: true; readonly value: Line<E>[] } | Failure> {
  const base = context.baseUrl()
  if (!base.ok) return base
  const credential = await context.credential('operator', base.value)
  if (!credential.ok) return credential
  const target = { baseUrl: base.value, token: credential.value }
  const host = Object.create(context.host, { signal: { value: signal } }) as typeof context.host
  const opened = await openStream({ host, settings: context.settings }, target, endpoint, input as InputOf<E>)
  if (!opened.ok) return signal.aborted && !context.host.signal.aborted ? { ok: true, value: [] } : opened
  const lines = untilBroken(opened.value as AsyncIterable<Line<E>>, signal)
  const value: Line<E>[] = []
  for (;;) {
    const next = await lines.next()
    if (next.done) return next.value ?? { ok: true, value }
    value.push(next.value)
    if (isLast(next.value)) return lines.return(undefined).then(() => ({ ok: true, value }))
  }
}

type Line<E extends { readonly output: unknown }> = E extends { readonly output: infer S extends object }
  ? Static<S>
  : never

interface ActivityInput {
  readonly since?: number
  readonly wait_seconds?: number
  readonly only?: 'requests' | 'deliveries' | 'problems'
  readonly bodies?: boolean
}

const LINES_MAX = 50

/** Reads the activity after a cursor; with `wait_seconds` it waits for the first line that fits. */
export async function readActivity(call: ToolCall, { since = 0, wait_seconds: wait = 0, only, bodies }: ActivityInput) {
  const flags = { bodies: bodies ? 'true' : 'false' } as const
  const fits = (it: ActivityLine) => isOfKind(it, only)
  let read = await readLines(call, platformActivity.activity, flags)
  if (!read.ok) return read
  // A restarted server counts from 1 again.
  const after = since > (read.value.at(-1)?.seq ?? 0) ? 0 : since
  const isNew = (it: ActivityLine) => it.seq > after && fits(it)
  if (wait > 0 && !read.value.some(isNew)) {
    const { signal, end } = limited(wait * 1000, call.context.host.signal)
    read = await readLines(call, platformActivity.activity, { ...flags, follow: 'true' }, isNew, signal).finally(end)
    if (!read.ok) return read
  }
  const found = read.value.filter(isNew).slice(0, LINES_MAX)
  const isComplete = found.length < LINES_MAX
  const cursor = (isComplete ? read.value.at(-1)?.seq : found.at(-1)?.seq) ?? after
  const data = { items: found.map(decoded), cursor }
  const more = { tool: 'activity', arguments: { since: cursor, ...(only && { only }) }, why: 'what comes after' }
  return {
    ok: true as const,
    text: `${found.length} lines, up to number ${cursor}.`,
    data,
    next: [more, ...problems(found)],
  }
}

function isOfKind(line: ActivityLine, only: ActivityInput['only']): boolean {
  if (only === undefined) return true
  if (line.kind === 'request') return only === 'requests' || (only === 'problems' && line.request.code !== null)
  if (line.kind === 'delivery') return only === 'deliveries' || (only === 'problems' && line.delivery.error !== null)
  return false
}

/** The lines with bodies as text in place of base64. */
function decoded(line: ActivityLine): ActivityLine {
  if (!('exchange' in line) || line.exchange === null) return line
  const { request, response } = line.exchange
  const text = <B extends { readonly body: string | null }>(it: B): B => ({
    ...it,
    body: it.body === null ? null : Buffer.from(it.body, 'base64').toString(),
  })
  return { ...line, exchange: { request: text(request), response: response && text(response) } }
}

const problems = (lines: readonly ActivityLine[]): Next[] =>
  lines.flatMap((it) => {
    if (it.kind === 'delivery' && it.delivery.error !== null)
      return explain('explain_delivery', { delivery_id: it.delivery.delivery_id }, 'it failed')
    if (it.kind === 'request' && it.request.code !== null)
      return explain('explain_refusal', { request_id: it.request.request_id }, 'it was refused')
    return []
  })

/** Reads a voucher with its history, by id or by code. */
export async function readVoucher(call: ToolCall, { voucher_id: id, code }: { voucher_id?: string; code?: string }) {
  const found =
    id === undefined
      ? await send(call, platformVouchers.findVoucher, { credential: { type: 'redeem_code', value: code ?? '' } })
      : await send(call, platformVouchers.voucher, { voucherId: id })
  if (!found.ok) return found
  return { ok: true as const, text: `The voucher has ${found.value.events.length} events.`, data: found.value }
}
