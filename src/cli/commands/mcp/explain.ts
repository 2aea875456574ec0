import { failuresOf } from '../../../contract/endpoint.js'
import { endpoints } from '../../../contract/index.js'
import { platformActivity } from '../../../contract/platform/activity.js'
import { type DeliveryHint, type DeliveryReplay, platformDeliveries } from '../../../contract/platform/deliveries.js'
import { closest } from '../../../contract/values/closest.js'
import { asMembers, parseObject } from '../../../values/json.js'
import { explainedCodes, explanationOf } from '../../failures/codes.js'
import { type Failure, usage } from '../../failures/failure.js'
import { inputSchema } from '../../schemas/scenario-schema.js'
import { readLines } from './observe.js'
import { send } from './session.js'
import type { Next, ToolCall } from './tool.js'

/** What cures each cause of a refused delivery. */
const cures: Readonly<Record<DeliveryHint['code'], string>> = {
  body_edited: 'Replay it as it was sent, or signed anew.',
  stale: 'Replay it with a new signature (send: resigned).',
  app_clock: 'Correct the clock of the application.',
  test_clock: 'Let the application compare X-Platform-Timestamp with the true time.',
  secret_replaced: 'Replay it with a new signature (send: resigned).',
  webhook_changed: 'Replay it with a new signature (send: resigned).',
  two_signatures: 'Let the application accept either signature of the header.',
  previous_secret_ended: 'Give the application the present secret of the webhook.',
  login: 'Exempt the path of the webhook from the login.',
  csrf: 'Exempt the path of the webhook from the CSRF check.',
  content_type: 'Let the application accept application/json, and verify the bytes before it parses them.',
  other_secret: 'Give the application the secret of this webhook, without quotes, spaces or a line end.',
  raw_body: 'Verify the bytes of the body as they arrived, before any parser reads them.',
}

/** Causes that look alike from here; replay_delivery with send: probe tells them apart. */
const alike: readonly string[] = ['other_secret', 'raw_body']

const withCure = ({ code, text }: DeliveryHint) => ({ code, text, cure: cures[code] })

type Verdict = 'delivered' | 'refused' | 'failed' | 'waiting' | 'cancelled'

const verdictOf = (status: number | null): Verdict =>
  status === null || status >= 500 ? 'failed' : status < 300 ? 'delivered' : 'refused'

/** Says whether a delivery arrived, why not, and what cures it. Without an id: the newest that failed. */
export async function explainDelivery(call: ToolCall, { delivery_id: given }: { delivery_id?: string }) {
  const id = given ?? (await newestFailed(call))
  if (typeof id === 'object') return id
  const found = await send(call, platformDeliveries.delivery, { deliveryId: id })
  if (!found.ok) return found
  const { delivery, hints, verification, responses, schedule, url } = found.value
  const { last_status_code: status, last_error: error } = delivery
  const isOpen = delivery.attempt_count === 0 && status === null
  const verdict: Verdict = delivery.status === 'cancelled' ? 'cancelled' : isOpen ? 'waiting' : verdictOf(status)
  const failed = verdict === 'refused' || verdict === 'failed'
  const causes = failed && hints.length > 0 ? hints.map(withCure) : failed ? [otherCause(status, error)] : []
  const data = {
    delivery_id: delivery.id,
    verdict,
    status,
    cause: causes[0] ?? null,
    certain: !alike.includes(causes[0]?.code ?? ''),
    other_causes: causes.slice(1),
    error,
    verification,
    // The path of a webhook is a secret.
    origin: url === null ? null : new URL(url).origin,
    next_attempt_at: schedule.find((it) => it.state === 'due' || it.state === 'later')?.at ?? null,
    response: bodyOf(responses.at(-1)?.response?.body),
  }
  const next = !data.certain ? [probe(delivery.id)] : failed ? [replay(delivery.id)] : []
  const text = `The delivery is ${verdict}${data.certain ? '' : '; a probe tells the cause'}.`
  return { ok: true as const, text, data, next }
}

const probe = (id: string): Next => ({
  tool: 'replay_delivery',
  arguments: { delivery_id: id, send: 'probe' },
  why: 'tells a wrong secret from a body that the application encodes again',
})
const replay = (id: string): Next => ({
  tool: 'replay_delivery',
  arguments: { delivery_id: id, send: 'resigned' },
  why: 'whether the cure worked',
})

const bodyOf = (body: string | null | undefined) => (body == null ? null : Buffer.from(body, 'base64').toString())

function otherCause(status: number | null, error: { readonly code: string } | null) {
  if (status === null) {
    const cure = 'See that it runs and listens at the URL of the webhook.'
    return { code: error?.code ?? 'no_response', text: 'The application did not respond.', cure }
  }
  const text = `The application responded ${status}, for a reason of its own.`
  return { code: `status_${status}`, text, cure: 'Read its log, and the body of its response.' }
}

async function newestFailed(call: ToolCall): Promise<string | Failure> {
  const list = await send(call, platformDeliveries.deliveries, { limit: 100 })
  if (!list.ok) return list
  const found = list.value.items.find((it) => it.status === 'failed' || it.status === 'dead_letter')
  return found?.id ?? usage('No delivery failed.', 'Name one with delivery_id; the tool find lists them.')
}

interface ReplayInput {
  readonly delivery_id: string
  readonly send: 'as_sent' | 'resigned' | 'probe'
}

/** Sends a delivery once more. A probe tells causes apart that look alike from here. */
export async function replayDelivery(call: ToolCall, { delivery_id: id, send: mode }: ReplayInput) {
  if (mode === 'probe') return probeApplication(call, id)
  const sent = await send(call, platformDeliveries.replayDelivery, { deliveryId: id, mode })
  if (!sent.ok) return sent
  const cause = sent.value.hints[0]
  const certain = !alike.includes(cause?.code ?? '')
  const data = { ...responseOf(id, sent.value), cause: cause === undefined ? null : withCure(cause), certain }
  const next = data.verdict === 'delivered' ? [] : [certain ? replay(id) : probe(id)]
  return { ok: true as const, text: `The delivery was ${data.verdict}.`, data, next }
}

const responseOf = (id: string, { status, error, exchange }: DeliveryReplay) => {
  return { delivery_id: id, verdict: verdictOf(status), status, error, response: bodyOf(exchange.response?.body) }
}

/**
 * Sends the update as common encoders write it, each time newly signed. An application that takes one of them, but not
 * the bytes of the delivery, verifies what it has encoded itself; one that refuses all of them has another secret.
 */
async function probeApplication(call: ToolCall, id: string) {
  const before = await send(call, platformDeliveries.delivery, { deliveryId: id })
  if (!before.ok) return before
  const { body, hints, delivery } = before.value
  const original = Buffer.from(body ?? '', 'base64').toString()
  const { serialisations } = await import('../../../webhook/explain.js')
  const forms = [...new Set(serialisations(asMembers(parseObject(original)) ?? {}))].filter((it) => it !== original)
  let sent: DeliveryReplay | undefined
  if (hints.some((it) => alike.includes(it.code))) {
    for (const form of forms) {
      const input = { deliveryId: id, mode: 'resigned', body: Buffer.from(form).toString('base64') } as const
      const replayed = await send(call, platformDeliveries.replayDelivery, input)
      if (!replayed.ok) return replayed
      sent = replayed.value
      if (sent.status !== delivery.last_status_code) break
    }
  }
  if (sent === undefined) return usage('No two causes of this delivery look alike.', 'See explain_delivery.')
  const isSame = sent.status === delivery.last_status_code
  const data = responseOf(id, sent)
  const code = isSame ? 'other_secret' : data.verdict === 'failed' ? undefined : 'raw_body'
  const cause = hints.find((it) => it.code === code)
  const text = `The probe tells the cause: ${code ?? 'unknown, because the application failed'}.`
  const found = { cause: cause === undefined ? null : withCure(cause), certain: cause !== undefined }
  return { ok: true as const, text, data: { ...data, ...found }, next: [replay(id)] }
}

/** Explains a failure code from the failure table. */
export function explainCode(call: ToolCall, { code }: { code: string }) {
  const data = explanationOf(code, call.context.host.env)
  if (data !== undefined)
    return { ok: true as const, text: `${data.code}: ${data.meaning}`, data, isOwn: true as const }
  const near = closest(code.toUpperCase(), explainedCodes)
  return usage('There is no such failure code.', near === undefined ? null : `Did you mean ${near}?`)
}

/** Explains a refused call: the entry of the request log, and its code. */
export async function explainRefusal(call: ToolCall, { request_id: id }: { request_id: string }) {
  const log = await readLines(call, platformActivity.requests, {})
  if (!log.ok) return log
  const request = log.value.find((it) => it.request_id === id)
  if (request === undefined)
    return usage('The request log has no such request.', 'The tool activity lists recent ones.')
  const cause = request.code === null ? undefined : explanationOf(request.code, call.context.host.env)
  const next: Next[] =
    request.voucher_id === null
      ? []
      : [{ tool: 'voucher_history', arguments: { voucher_id: request.voucher_id }, why: 'what happened before' }]
  const text =
    cause === undefined ? 'The request succeeded, or its code is unknown.' : `${cause.code}: ${cause.meaning}`
  return { ok: true as const, text, data: { request, cause: cause ?? null }, next }
}

/** Describes an endpoint of the contract; without an id it lists all. */
export function describeEndpoint({ endpoint: id }: { endpoint?: string }) {
  const isOwn = true as const
  const shown = endpoints.filter((it) => id === undefined || it.id === id)
  if (shown.length === 0) return unknownEndpoint(id ?? '')
  const items = shown.map((it) => {
    const { method, path, summary, caller, scope = null } = it
    const head = { id: it.id, method, path, summary, caller, scope }
    return id === undefined ? head : { ...head, input: inputSchema(it), output: it.output, failures: failuresOf(it) }
  })
  return { ok: true as const, text: `${items.length} endpoints of the contract.`, data: { items }, isOwn }
}

export function unknownEndpoint(id: string): Failure {
  const near = closest(
    id,
    endpoints.map((it) => it.id),
  )
  return usage('There is no such endpoint.', near === undefined ? 'See describe_endpoint.' : `Did you mean ${near}?`)
}

/** Returns a rule of RULES.md by its anchor; without one it lists the anchors. */
export function readRule(call: ToolCall, { anchor }: { anchor?: string }) {
  const isOwn = true as const
  const rules = rulesOf(call.context.host.document('src/contract/RULES.md'))
  if (anchor === undefined) {
    const items = [...rules].map(([name]) => ({ anchor: name, text: null }))
    return { ok: true as const, text: `${items.length} rules.`, data: { items }, isOwn }
  }
  const name = anchor.replace(/^.*#/, '')
  const text = rules.get(name)
  if (text !== undefined)
    return { ok: true as const, text: `The rule ${name}.`, data: { items: [{ anchor: name, text }] }, isOwn }
  const near = closest(name, [...rules.keys()])
  return usage('There is no rule with this anchor.', near === undefined ? null : `Did you mean ${near}?`)
}

/** The sections of the rules, by anchor. */
export function rulesOf(document: string): ReadonlyMap<string, string> {
  const sections = document.split(/^(?=#{2,3} )/m).filter((it) => it.startsWith('### '))
  return new Map(sections.map((it) => [anchorOf(it.slice(4, it.indexOf('\n'))), it.trim()]))
}

const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')
