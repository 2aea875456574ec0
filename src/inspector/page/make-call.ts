import type { Envelope } from '../../contract/envelope.js'
import type { MadeCall } from '../../contract/platform/acting.js'
import { dataOf, exchange, NO_RESPONSE, type Received, type Result } from './api.js'
import { bodyOf, type PlannedCall, pathOf } from './model/planned-call.js'
import { readEndpoints } from './reference.js'
import { announce } from './state.js'
import { standing } from './trust.js'

/** Endpoints by which the operator makes a call for somebody, each with its path parameter. */
const acting = {
  application: ['platform.callAsApp', 'appId'],
  bot: ['platform.callAsBot', 'botId'],
  account: ['platform.callAsAccount', 'accountId'],
} as const

/**
 * Makes a call that changes something: of the operator API, or for an application, a bot or an account. All changes of
 * the page go here. @param said announced after a success; a failure is then announced, too
 */
export async function makeCall<Data>(planned: PlannedCall, said?: string): Promise<Result<Data>> {
  const sent = await sendCall(planned)
  const result = sent.ok ? dataOf<Data>(sent.data) : sent
  const isOfOther = planned.as !== undefined && !result.ok && result.code !== undefined
  const named = isOfOther ? { ...result, sentence: `${result.code}: ${result.sentence}` } : result
  if (said !== undefined) announce(named.ok ? said : named.sentence)
  return named
}

/** Makes a call; succeeds with any response. */
export async function sendCall(planned: PlannedCall): Promise<Result<Received>> {
  // The reading would wait until the server is back.
  if (standing.value !== 'own') return { ok: false, sentence: NO_RESPONSE }
  const read = await readEndpoints()
  if (!read.ok) return read
  const call = operatorCallOf(planned)
  const endpoint = read.data.get(call.endpoint)
  if (endpoint === undefined) return { ok: false, sentence: `The server does not have ${call.endpoint}.` }
  const sent = await exchange(endpoint.method, pathOf(call, endpoint), bodyOf(call, endpoint))
  if (!sent.ok || call === planned || !sent.data.body?.success) return sent
  const { status, body } = sent.data.body.data as MadeCall
  return { ok: true, data: { status, headers: [], body: body as Envelope<unknown> | null } }
}

/** The operator's call by which a call is made for somebody; a call of the operator API stays as it is. */
function operatorCallOf(planned: PlannedCall): PlannedCall {
  const { endpoint, input, as, idempotencyKey: idempotency_key, voucherId: voucher_id } = planned
  if (as === undefined) return planned
  const [through, parameter] = acting[as.kind]
  return { endpoint: through, input: { [parameter]: as.id, endpoint, input, idempotency_key, voucher_id } }
}
