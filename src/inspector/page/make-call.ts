import type { Envelope, FailureEnvelope } from '../../contract/envelope.js'
import type { MadeCall } from '../../contract/platform/acting.js'
import { API, call, NO_RESPONSE, type Result, sentenceOf } from './api.js'
import { bodyOf, type PlannedCall, pathOf } from './model/planned-call.js'
import { readEndpoints } from './reference.js'
import { announce } from './state.js'
import { standing } from './trust.js'

/** Makes a call that changes something: of the operator API, or as an application. All changes of the page go here. */
export async function makeCall<Data>(planned: PlannedCall): Promise<Result<Data>> {
  const { endpoint: id, input, applicationId, voucherId, idempotencyKey } = planned
  if (applicationId !== undefined) {
    const asApp = { endpoint: id, input, idempotency_key: idempotencyKey, voucher_id: voucherId }
    return outcomeOf(await makeCall({ endpoint: 'platform.callAsApp', input: { appId: applicationId, ...asApp } }))
  }
  // The reading would wait until the server is back.
  if (standing.value !== 'own') return { ok: false, sentence: NO_RESPONSE }
  const read = await readEndpoints()
  if (!read.ok) return read
  const endpoint = read.data.get(id)
  if (endpoint === undefined) return { ok: false, sentence: `The server does not have ${id}.` }
  return call(endpoint.method, pathOf(planned, endpoint).slice(API.length), bodyOf(planned, endpoint))
}

/** Result of a call that the operator made as an application. */
function outcomeOf<Data>(made: Result<MadeCall>): Result<Data> {
  if (!made.ok) return made
  const { status, code, body } = made.data
  const envelope = body as Envelope<Data> | null
  if (envelope?.success) return { ok: true, data: envelope.data }
  const reason = envelope ? sentenceOf(envelope as FailureEnvelope) : `HTTP ${status}`
  return { ok: false, sentence: `${code ?? status}: ${reason}` }
}

/** Makes a call, and announces the success or the failure. */
export async function act(planned: PlannedCall, done: string): Promise<boolean> {
  const result = await makeCall(planned)
  announce(result.ok ? done : result.sentence)
  return result.ok
}
