import type { Transport, TransportRequest, TransportResponse } from '../../src/client/transport.js'
import { asMembers, parseJson } from '../../src/secure/json.js'

/** A deviant server: the reference behind a proxy that changes one thing. */
export type Deviate = (reference: Transport) => Transport
export type Json = Record<string, unknown>

/** True for calls of a method and path, such as `POST /issue`. The path is a pattern for the whole path and query. */
export type Call = (request: TransportRequest) => boolean
export const on =
  (call: string): Call =>
  ({ method, path }) =>
    new RegExp(`^${call}$`).test(`${method} ${path}`)
export const any: Call = () => true

export const membersOf = (json: unknown) => (asMembers(json) ?? {}) as Json
export const bodyOf = ({ body }: TransportRequest) => membersOf(parseJson(body ?? ''))

/** Changes requests on their way to the server. */
export const sends =
  (when: Call, change: (request: TransportRequest) => Partial<TransportRequest>): Deviate =>
  (next) =>
  (request) =>
    next(when(request) ? { ...request, ...change(request) } : request)

/** Changes a body unless it is malformed or has a name twice: the server sees those as they were sent. */
export function changedBody(body: string | undefined, change: (body: Json) => Json): string | undefined {
  const members = asMembers(parseJson(body ?? '{}'))
  const isWhole = members !== undefined && JSON.stringify(members) === (body ?? '{}')
  return isWhole ? JSON.stringify(change(members)) : body
}

/** Changes the body of requests. */
export const sendsBody = (when: Call, change: (body: Json) => Json): Deviate =>
  sends(when, ({ body }) => (body === undefined ? {} : { body: changedBody(body, change) ?? '' }))

/** Changes responses. */
export const responds =
  (
    when: Call,
    change: (response: TransportResponse, request: TransportRequest) => Partial<TransportResponse>,
  ): Deviate =>
  (next) =>
  async (request) => {
    const response = await next(request)
    return when(request) ? { ...response, ...change(response, request) } : response
  }

/** Changes the JSON of responses with a status of this class. */
export const returns = (when: Call, kind: 2 | 4, change: (json: Json, request: TransportRequest) => Json): Deviate =>
  responds(when, ({ status, body }, request) =>
    Math.floor(status / 100) === kind ? { body: JSON.stringify(change(membersOf(parseJson(body)), request)) } : {},
  )

/** Changes `data` of successes. */
export const returnsData = (when: Call, change: (data: Json, request: TransportRequest) => unknown): Deviate =>
  returns(when, 2, (json, request) => ({ ...json, data: change(membersOf(json.data), request) }))

export const refusal = (status: number, code: string): TransportResponse => ({
  status,
  headers: { 'cache-control': 'no-store', 'x-request-id': 'req_00000000000000000000000000' },
  body: JSON.stringify({
    success: false,
    code,
    message: 'No.',
    retryable: false,
    details: {},
    requestId: 'req_00000000000000000000000000',
  }),
})

/** Refuses calls before the server sees them. */
export const refuses =
  (when: Call, status: number, code: string): Deviate =>
  (next) =>
  async (request) =>
    when(request) ? refusal(status, code) : next(request)

/** True for a call that all of these are true for. */
export const both =
  (...calls: readonly Call[]): Call =>
  (request) =>
    calls.every((call) => call(request))
