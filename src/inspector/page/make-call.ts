import type { Envelope, FailureEnvelope } from '../../contract/envelope.js'
import type { MadeCall } from '../../contract/platform/acting.js'
import { API, call, NO_RESPONSE, type Result, sentenceOf } from './api.js'
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
  const result = await (planned.as === undefined ? request<Data>(planned) : requestAs<Data>(planned))
  if (said !== undefined) announce(result.ok ? said : result.sentence)
  return result
}

async function request<Data>(planned: PlannedCall): Promise<Result<Data>> {
  // The reading would wait until the server is back.
  if (standing.value !== 'own') return { ok: false, sentence: NO_RESPONSE }
  const read = await readEndpoints()
  if (!read.ok) return read
  const { endpoint: id } = planned
  const endpoint = read.data.get(id)
  if (endpoint === undefined) return { ok: false, sentence: `The server does not have ${id}.` }
  return call(endpoint.method, pathOf(planned, endpoint).slice(API.length), bodyOf(planned, endpoint))
}

/** The operator's call by which a call is made for somebody; a call of the operator API stays as it is. */
export function operatorCallOf(planned: PlannedCall): PlannedCall {
  const { endpoint, input, as, idempotencyKey: idempotency_key, voucherId: voucher_id } = planned
  if (as === undefined) return planned
  const [through, parameter] = acting[as.kind]
  const all = { [parameter]: as.id, endpoint, input, idempotency_key, voucher_id }
  return { endpoint: through, input: all }
}

async function requestAs<Data>(planned: PlannedCall): Promise<Result<Data>> {
  const made = await request<MadeCall>(operatorCallOf(planned))
  if (!made.ok) return made
  const { status, code, body } = made.data
  const envelope = body as Envelope<Data> | null
  if (envelope?.success) return { ok: true, data: envelope.data }
  const reason = envelope ? sentenceOf(envelope as FailureEnvelope) : `HTTP ${status}`
  return { ok: false, sentence: `${code ?? status}: ${reason}`, ...(code && { code }) }
}
