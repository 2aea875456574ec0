import type { Endpoint, InputOf, OutputOf } from '../../contract/endpoint.js'
import { oneOf } from '../../contract/fields.js'
import { endpointOf } from '../../contract/index.js'
import { type ActivityLine, activityLine, platformActivity, requestLogEntry } from '../../contract/platform/activity.js'
import { fault, platformControls } from '../../contract/platform/controls.js'
import { platformDeliveries } from '../../contract/platform/deliveries.js'
import { platform } from '../../contract/platform/platform.js'
import { platformVouchers, voucherHistory } from '../../contract/platform/voucher-history.js'
import { Type } from '../../contract/schema.js'
import type { Ok } from '../command/context.js'
import { collect, openStream, operatorTarget, untilBroken } from '../command/stream-lines.js'
import { type Failure, usage } from '../failures/failure.js'
import { deliveryRecord, isFailed } from './delivery-tools.js'
import { optional, orNull } from './fields.js'
import { limited } from './session.js'
import { type Next, send, succeed, suggest, type ToolCall, tool } from './tool.js'

/** Recent problems that a state names, of each kind. */
const PROBLEMS_MAX = 5

export const readState = tool({
  name: 'server_state',
  title: 'State of the server',
  description:
    'Begin here. Returns the address of the server, its clock, faults, and the recent calls and deliveries that failed; `next` names the tool that explains each of them.',
  input: {},
  output: Type.Object({
    base_url: Type.String(),
    is_local: Type.Boolean(),
    may_change: Type.Boolean({ description: 'false: tools that change something refuse' }),
    clock: orNull(platformControls.getClock.output),
    faults: Type.Array(fault),
    reviews: Type.Integer({ description: 'templates and bots that wait for approval' }),
    failed_deliveries: Type.Array(deliveryRecord),
    refused_calls: Type.Array(requestLogEntry),
  }),
  async run(call) {
    const { context, isLocal } = call
    const base = context.baseUrl()
    if (!base.ok) return base
    const known = { base_url: base.value, is_local: isLocal, may_change: call.refuseWrite() === undefined }
    const faults = await send(call, platformControls.faults, {})
    // Other platforms have no operator API.
    if (!faults.ok && !isLocal && (faults.code === 'CREDENTIAL_REQUIRED' || faults.status !== null)) {
      const data = { ...known, clock: null, faults: [], reviews: 0, failed_deliveries: [], refused_calls: [] }
      return succeed('Nothing more is known without an operator key; `call` reads.', data)
    }
    if (!faults.ok) return faults
    const [clock, reviews, deliveries, requests] = await Promise.all([
      send(call, platformControls.getClock, {}),
      send(call, platform.reviews, {}),
      send(call, platformDeliveries.deliveries, { limit: 100 }),
      readLines(call, platformActivity.requests, {}),
    ])
    if (!reviews.ok) return reviews
    if (!deliveries.ok) return deliveries
    if (!requests.ok) return requests
    const refused = requests.value.filter((it) => it.code !== null && endpointOf(it.endpoint)?.caller !== 'operator')
    const data = {
      ...known,
      clock: clock.ok ? clock.value : null,
      faults: faults.value.items,
      reviews: reviews.value.items.length,
      failed_deliveries: deliveries.value.items.filter(isFailed).slice(0, PROBLEMS_MAX),
      refused_calls: refused.slice(-PROBLEMS_MAX).reverse(),
    }
    const next = [
      ...data.failed_deliveries.map((it) => suggest('explain_delivery', { delivery_id: it.id }, 'a delivery failed')),
      ...data.refused_calls.map((it) => suggest('explain_refusal', { request_id: it.request_id }, 'it was refused')),
    ]
    return succeed(`Recent problems: ${next.length}. Faults that are set: ${data.faults.length}.`, data, next)
  },
})

/** A server keeps fewer lines; one that never ends its response must not fill the memory. */
const READ_MAX = 20_000

/** Reads the lines that the server has now; with `follow` until the last one or the end of the signal. */
export async function readLines<E extends Endpoint & { readonly streams: true }>(
  { context }: Pick<ToolCall, 'context'>,
  endpoint: E,
  input: InputOf<E>,
  isLast: (line: OutputOf<E>) => boolean = () => false,
  signal: AbortSignal = context.host.signal,
): Promise<Ok<OutputOf<E>[]> | Failure> {
  const target = await operatorTarget(context)
  if (!target.ok) return target
  const { host, settings } = context
  const opened = await openStream({ host: { ...host, signal }, settings }, target.value, endpoint, input)
  if (!opened.ok) return signal.aborted && !host.signal.aborted ? { ok: true, value: [] } : opened
  return collect(untilBroken(opened.value, signal), (line, count) => count === READ_MAX || isLast(line))
}

const LINES_MAX = 50

export const readActivity = tool({
  name: 'activity',
  title: 'Recent activity',
  description:
    'Returns calls, deliveries and changes after the number `since`, at most 50; `wait_seconds` waits for the first, such as for a webhook. Continue with the returned cursor.',
  input: {
    since: Type.Optional(Type.Integer({ minimum: 0, description: 'cursor of an earlier result, default 0' })),
    wait_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 50 })),
    only: Type.Optional(oneOf(['requests', 'deliveries', 'problems'])),
    bodies: Type.Optional(Type.Boolean({ description: 'with headers and bodies' })),
  },
  output: Type.Object({ items: Type.Array(activityLine), cursor: Type.Integer() }),
  async run(call, { since = 0, wait_seconds: wait = 0, only, bodies }) {
    const flags = { bodies: bodies ? 'true' : 'false' } as const
    let read = await readLines(call, platformActivity.activity, flags)
    if (!read.ok) return read
    // A restarted server counts from 1 again.
    const after = since > (read.value.at(-1)?.seq ?? 0) ? 0 : since
    const isNew = (it: ActivityLine) => it.kind !== 'live' && it.seq > after && isOfKind(it, only)
    if (wait > 0 && !read.value.some(isNew)) {
      const { signal, end } = limited(wait * 1000, call.context.host.signal)
      const input = { ...flags, follow: 'true' } as const
      read = await readLines(call, platformActivity.activity, input, isNew, signal).finally(end)
      if (!read.ok) return read
    }
    const found = read.value.filter(isNew).slice(0, LINES_MAX)
    const last = found.length < LINES_MAX ? read.value.at(-1) : found.at(-1)
    const cursor = last?.seq ?? after
    const more = suggest('activity', { since: cursor, ...(only && { only }) }, 'what comes after')
    const text = `Lines: ${found.length}, up to number ${cursor}.`
    return succeed(text, { items: found.map(decoded), cursor }, [more, ...found.flatMap(explainers)])
  },
})

function isOfKind(line: ActivityLine, only: 'requests' | 'deliveries' | 'problems' | undefined): boolean {
  if (only === undefined) return true
  if (only === 'problems') return explainers(line).length > 0
  return line.kind === (only === 'requests' ? 'request' : 'delivery')
}

/** The tool that explains a line, if it is a problem. */
function explainers(line: ActivityLine): Next[] {
  if (line.kind === 'delivery' && line.delivery.error !== null)
    return [suggest('explain_delivery', { delivery_id: line.delivery.delivery_id }, 'it failed')]
  if (line.kind === 'request' && line.request.code !== null)
    return [suggest('explain_refusal', { request_id: line.request.request_id }, 'it was refused')]
  return []
}

/** The line with bodies as text in place of base64. */
function decoded(line: ActivityLine): ActivityLine {
  if (!('exchange' in line) || line.exchange === null) return line
  const { request, response } = line.exchange
  const text = <B extends { readonly body: string | null }>(it: B): B => ({
    ...it,
    body: it.body === null ? null : Buffer.from(it.body, 'base64').toString(),
  })
  return { ...line, exchange: { request: text(request), response: response && text(response) } }
}

export const readVoucher = tool({
  name: 'voucher_history',
  title: 'History of a voucher',
  description:
    'Use it when a voucher does not behave as expected. Returns the voucher and each event: who issued, verified, redeemed or reversed it, and when. Give one of the two.',
  input: { voucher_id: optional('vch_…'), code: optional('redeem code') },
  output: voucherHistory,
  async run(call, { voucher_id: voucherId, code: value }) {
    if ((voucherId === undefined) === (value === undefined)) return usage('Give either voucher_id or code.')
    const found =
      value === undefined
        ? await send(call, platformVouchers.voucher, { voucherId: voucherId ?? '' })
        : await send(call, platformVouchers.findVoucher, { credential: { type: 'redeem_code', value } })
    return found.ok ? succeed(`Events of the voucher: ${found.value.events.length}.`, found.value) : found
  },
})
