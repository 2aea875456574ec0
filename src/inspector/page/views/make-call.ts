import type { Envelope, FailureEnvelope } from '../../../contract/envelope.js'
import type { MadeCall } from '../../../contract/platform/acting.js'
import { API, call, type Result, sentenceOf } from '../api.js'
import { type PlannedCall, pathOf } from '../model/planned-call.js'

/** Makes a planned call: of the operator API, or as an application. */
export async function makeCall<Data>(planned: PlannedCall): Promise<Result<Data>> {
  const { endpoint, method, params, body, applicationId, voucherId, idempotencyKey } = planned
  if (applicationId === undefined) return call(method, pathOf(planned).slice(API.length), body ?? {})
  const { credential, ...members } = (body ?? {}) as Readonly<Record<string, unknown>>
  const made = await call<MadeCall>('POST', `/applications/${encodeURIComponent(applicationId)}/calls`, {
    endpoint,
    input: { ...params, ...members },
    idempotency_key: idempotencyKey,
    voucher_id: voucherId,
  })
  if (!made.ok) return made
  const envelope = made.data.body as unknown as Envelope<Data> | null
  if (envelope?.success) return { ok: true, data: envelope.data }
  const sentence = envelope ? sentenceOf(envelope as FailureEnvelope) : `HTTP ${made.data.status}`
  return { ok: false, sentence: `${made.data.code ?? made.data.status}: ${sentence}` }
}
