import type { Endpoint, InputOf, OutputOf } from '../contract/endpoint.js'
import { type PreparedCall, prepareCall } from './prepare.js'
import { readSuccess } from './response.js'
import type { CallResult } from './result.js'
import type { CallOptions, CallSettings } from './settings.js'
import { isTransportError, type Transport } from './transport.js'

/** Calls one endpoint. Refusals and network failures are return values; they are never thrown. */
export type Call = <E extends Endpoint>(
  endpoint: E,
  input: InputOf<E>,
  options?: CallOptions,
) => Promise<CallResult<OutputOf<E>>>

/** Loads on demand what a successful call does not need: the failure table takes a command half a millisecond. */
const failures = () => import('./failure.js')

/** Creates a function that calls endpoints over a transport. It never retries; `withRetry` adds retries. */
export function createCall(transport: Transport, settings: CallSettings = {}): Call {
  return async (endpoint, input, options = {}) => {
    if (endpoint.streams) throw new TypeError(`${endpoint.id} returns a stream: use the stream function`)
    const prepared = await prepareCall(endpoint, input as Readonly<Record<string, unknown>>, settings, options)
    if (!prepared.ok) return (await failures()).failureOfInput(prepared)
    return sendPrepared<OutputOf<typeof endpoint>>(transport, prepared)
  }
}

/** Sends a prepared call. Refusals and network failures are return values; they are never thrown. */
export async function sendPrepared<Data>(transport: Transport, prepared: PreparedCall): Promise<CallResult<Data>> {
  try {
    const response = await transport(prepared.request)
    const success = readSuccess<Data>(response, prepared.expected)
    return success ?? (await failures()).failureOfResponse(response, prepared)
  } catch (error) {
    if (!isTransportError(error)) throw error
    return (await failures()).failureOfTransport(error, prepared)
  }
}
