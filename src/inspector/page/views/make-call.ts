import type { Envelope, FailureEnvelope } from '../../../contract/envelope.js'
import type { MadeCall } from '../../../contract/platform/acting.js'
import { API, call, type Result, sentenceOf } from '../api.js'
import { bodyOf, type PlannedCall, pathOf, plannable } from '../model/planned-call.js'

/** Makes a planned call: of the operator API, or as an application. */
export async function makeCall<Data>(planned: PlannedCall): Promise<Result<Data>> {
  const { endpoint, input, applicationId, voucherId, idempotencyKey } = planned
  if (applicationId === undefined)
    return call(plannable[endpoint][0], pathOf(planned).slice(API.length), bodyOf(planned))
  const given = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== ''))
  const made = await call<MadeCall>('POST', `/applications/${encodeURIComponent(applicationId)}/calls`, {
    ...{ endpoint, input: given, idempotency_key: idempotencyKey, voucher_id: voucherId },
  })
  if (!made.ok) return made
  const envelope = made.data.body as Envelope<Data> | null
  if (envelope?.success) return { ok: true, data: envelope.data }
  const sentence = envelope ? sentenceOf(envelope as FailureEnvelope) : `HTTP ${made.data.status}`
  return { ok: false, sentence: `${made.data.code ?? made.data.status}: ${sentence}` }
}
