import type { Transport, TransportRequest, TransportResponse } from '../../../src/client/transport.js'
import { asMembers, parseJson } from '../../../src/values/json.js'

/** A deviant server: the reference behind a proxy that changes one thing. */
export type Deviate = (reference: Transport) => Transport
/** A deviant server, and the probe that reports it. */
export type Deviant = readonly [probe: `${string}/${string}`, deviate: Deviate]

/** Lists deviant servers. @param byProbe deviations by the probes that report them, in `calls` several in a text */
export const deviants = (byProbe: Readonly<Record<Deviant[0], Deviate>>) => Object.entries(byProbe) as Deviant[]

export type Json = Record<string, unknown>
// biome-ignore lint/suspicious/noExplicitAny: members of any request or response
export type Data = any

export type Call = (request: TransportRequest) => boolean
export const any: Call = () => true

/** @param call pattern of the whole method, path and query, such as `POST /issue` */
export const on =
  (call: string): Call =>
  ({ method, path }) =>
    new RegExp(`^(?:${call})$`).test(`${method} ${path}`)

/** @param call pattern of the whole method and path; the query may be any */
export const onPath = (call: string): Call => on(`(?:${call})(?:\\?.*)?`)

/** True for POST calls whose path ends with a text. */
export const post =
  (end: string): Call =>
  ({ method, path }) =>
    method === 'POST' && path.endsWith(end)

/** True for a call that all of these are true for. */
export const both =
  (...calls: readonly Call[]): Call =>
  (request) =>
    calls.every((call) => call(request))

export const membersOf = (json: unknown) => (asMembers(json) ?? {}) as Json
export const bodyOf = ({ body }: { readonly body?: string | undefined }): Data => membersOf(parseJson(body ?? ''))
export const bearerOf = ({ headers }: TransportRequest) => (headers.authorization ?? '').replace('Bearer ', '')
export const codeOf = (response: TransportResponse): string | undefined => bodyOf(response).code

/** A request with another body. */
export const withBody = (request: TransportRequest, body: Data): TransportRequest => ({
  ...request,
  headers: { ...request.headers, 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

/** Changes requests on their way to the server. */
export const sends =
  (when: Call, change: (request: TransportRequest) => Partial<TransportRequest>): Deviate =>
  (next) =>
  (request) =>
    next(when(request) ? { ...request, ...change(request) } : request)

/** Changes a body unless it is malformed or has a name twice: the server sees those as they were sent. */
function changedBody(body: string | undefined, change: (body: Data) => Data): string | undefined {
  const members = asMembers(parseJson(body ?? '{}'))
  const isWhole = members !== undefined && JSON.stringify(members) === (body ?? '{}')
  return isWhole ? JSON.stringify(change(members)) : body
}

/** Changes the members of bodies on their way to the server. */
export const sendsBody = (when: Call, change: (body: Data) => Data): Deviate =>
  sends(when, ({ headers, body }) => ({
    headers: { ...headers, ...(body === undefined && { 'content-type': 'application/json' }) },
    body: changedBody(body, change) ?? '',
  }))

type Change = (
  response: TransportResponse,
  request: TransportRequest,
) => Partial<TransportResponse> | Promise<Partial<TransportResponse>>

/** Changes responses. */
export const responds =
  (when: Call, change: Change): Deviate =>
  (next) =>
  async (request) => {
    const response = await next(request)
    return when(request) ? { ...response, ...(await change(response, request)) } : response
  }

/** Changes the JSON of responses with a status of this class. */
export const returns = (when: Call, kind: 2 | 4, change: (json: Data, request: TransportRequest) => Json): Deviate =>
  responds(when, (response, request) =>
    Math.floor(response.status / 100) === kind ? { body: JSON.stringify(change(bodyOf(response), request)) } : {},
  )

/** Changes `data` of successes that have it. */
export const returnsData = (when: Call, change: (data: Data, request: TransportRequest) => unknown): Deviate =>
  returns(when, 2, (json, request) =>
    json.data === undefined ? json : { ...json, data: change(membersOf(json.data), request) },
  )

export const success = (data: Json = {}): TransportResponse => ({
  status: 200,
  headers: {},
  body: JSON.stringify({ success: true, data, requestId: 'req_deviant' }),
})

export const refusal = (status: number, code = 'DEVIANT'): TransportResponse => ({
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
  (when: Call, status: number, code?: string): Deviate =>
  (next) =>
  async (request) =>
    when(request) ? refusal(status, code) : next(request)

/** Accepts, without an effect, what the reference refuses with a status. */
export const accepts = (when: Call, status: number, also: Call = any): Deviate =>
  responds(when, (response, request) => (response.status === status && also(request) ? success() : {}))

/** Accepts what the reference refuses with a code, or returns another response instead. */
export const acceptsCode = (when: Call, code: string, instead = success()): Deviate =>
  responds(when, (response) => (codeOf(response) === code ? instead : {}))
