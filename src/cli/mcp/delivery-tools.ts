import { membersOf } from '../../contract/endpoint.js'
import { oneOf } from '../../contract/fields.js'
import {
  type DeliveryHint,
  type DeliveryReplay,
  deliveryCures,
  platformDeliveries,
} from '../../contract/platform/deliveries.js'
import type { Schema } from '../../contract/schema.js'
import { asMembers, parseObject } from '../../values/json.js'
import { usage } from '../failures/failure.js'
import { open, optional, text } from './fields.js'
import { send, succeed, suggest, type ToolCall, tool } from './tool.js'

/** Causes that look alike from here; replay_delivery with send: probe tells them apart. */
const alike: readonly string[] = ['other_secret', 'raw_body']

const withCure = ({ code, text }: DeliveryHint) => ({ code, text, cure: deliveryCures[code] })

export const deliveryRecord = membersOf(platformDeliveries.delivery.output).delivery as Schema<{ id: string }>

const verdictOf = (status: number | null) =>
  status === null || status >= 500 ? 'failed' : status < 300 ? 'delivered' : 'refused'

const probe = (id: string) => {
  const why = 'tells a wrong secret from a body that the application encodes again'
  return suggest('replay_delivery', { delivery_id: id, send: 'probe' }, why)
}
const replay = (id: string) =>
  suggest('replay_delivery', { delivery_id: id, send: 'resigned' }, 'whether the cure worked')

const bodyOf = (body: string | null | undefined) => (body == null ? null : Buffer.from(body, 'base64').toString())

export const isFailed = ({ status }: { readonly status: string }) => status === 'failed' || status === 'dead_letter'

async function newestFailed(call: ToolCall) {
  const list = await send(call, platformDeliveries.deliveries, { limit: 100 })
  if (!list.ok) return list
  const found = list.value.items.find(isFailed)
  return found?.id ?? usage('No delivery failed.', 'Name one with delivery_id; the tool find lists them.')
}

function otherCause(status: number | null, error: { readonly code: string } | null) {
  if (status === null) {
    const cure = 'See that it runs and listens at the URL of the webhook.'
    return { code: error?.code ?? 'no_response', text: 'The application did not respond.', cure }
  }
  const text = `The application responded ${status}, for its own reason.`
  return { code: `status_${status}`, text, cure: 'Read its log, and the body of its response.' }
}

export const explainDelivery = tool({
  name: 'explain_delivery',
  title: 'Explain a delivery',
  description:
    'Use it when a webhook did not arrive or the application refused it. Returns verdict, cause and cure. If two causes look alike from here, `next` names the replay that tells them apart.',
  input: { delivery_id: optional('dlv_…; default: the newest that failed') },
  output: open,
  async run(call, { delivery_id: given }) {
    const id = given ?? (await newestFailed(call))
    if (typeof id === 'object') return id
    const found = await send(call, platformDeliveries.delivery, { deliveryId: id })
    if (!found.ok) return found
    const { delivery, hints, verification, responses, schedule, url } = found.value
    const { last_status_code: status, last_error: error } = delivery
    const isOpen = delivery.attempt_count === 0 && status === null
    const verdict = delivery.status === 'cancelled' ? 'cancelled' : isOpen ? 'waiting' : verdictOf(status)
    const failed = verdict === 'refused' || verdict === 'failed'
    const causes = failed && hints.length > 0 ? hints.map(withCure) : failed ? [otherCause(status, error)] : []
    const certain = !alike.includes(causes[0]?.code ?? '')
    const data = {
      delivery_id: delivery.id,
      verdict,
      status,
      cause: causes[0] ?? null,
      certain,
      other_causes: causes.slice(1),
      error,
      verification,
      // The path of a webhook is a secret.
      origin: url === null ? null : new URL(url).origin,
      next_attempt_at: schedule.find((it) => it.state === 'due' || it.state === 'later')?.at ?? null,
      response: bodyOf(responses.at(-1)?.response?.body),
    } as const
    const next = !certain ? [probe(delivery.id)] : failed ? [replay(delivery.id)] : []
    return succeed(`The delivery is ${verdict}${certain ? '' : '; a probe tells the cause'}.`, data, next)
  },
})

export const replayDelivery = tool({
  name: 'replay_delivery',
  title: 'Send a delivery again',
  description:
    'Sends a delivery once more without changing its state: as_sent with the same headers, resigned with a new signature, probe, several times as other encoders write it, to tell a wrong secret from a body that the application encodes again. Returns verdict, cause and cure.',
  effect: 'changes',
  input: { delivery_id: text('dlv_…'), send: oneOf(['as_sent', 'resigned', 'probe']) },
  output: open,
  async run(call, { delivery_id: id, send: mode }) {
    if (mode === 'probe') return probeApplication(call, id)
    const sent = await send(call, platformDeliveries.replayDelivery, { deliveryId: id, mode })
    if (!sent.ok) return sent
    const cause = sent.value.hints[0]
    const certain = !alike.includes(cause?.code ?? '')
    const data = { ...responseOf(id, sent.value), cause: cause === undefined ? null : withCure(cause), certain }
    const next = data.verdict === 'delivered' ? [] : [certain ? replay(id) : probe(id)]
    return succeed(`The delivery was ${data.verdict}.`, data, next)
  },
})

const responseOf = (id: string, { status, error, exchange }: DeliveryReplay) => {
  const verdict = verdictOf(status)
  return { delivery_id: id, verdict, status, error, response: bodyOf(exchange.response?.body) } as const
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
  const { serialisations } = await import('../../webhook/explain.js')
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
  const response = responseOf(id, sent)
  const code = isSame ? 'other_secret' : response.verdict === 'failed' ? undefined : 'raw_body'
  const cause = hints.find((it) => it.code === code)
  const data = { ...response, cause: cause === undefined ? null : withCure(cause), certain: cause !== undefined }
  return succeed(`The probe tells the cause: ${code ?? 'unknown, because the application failed'}.`, data, [replay(id)])
}
