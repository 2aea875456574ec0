import http from 'node:http'
import https from 'node:https'
import { buffer } from 'node:stream/consumers'
import { inject } from 'light-my-request'
import {
  type Endpoint,
  type InputOf,
  membersOf,
  type OutputOf,
  pathParameters,
} from '../../../src/contract/endpoint.js'
import type { Envelope } from '../../../src/contract/envelope.js'
import type { App } from '../../../src/server/app.js'

export interface WireRequest {
  readonly method: string
  /** Path with query string. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

export class ApiResponse<Data = unknown> {
  constructor(
    readonly status: number,
    readonly headers: Readonly<Record<string, string>>,
    readonly text: string,
  ) {}

  get envelope(): Envelope<Data> {
    return JSON.parse(this.text) as Envelope<Data>
  }

  /** Data of a success response. @throws for an error response, so that no test continues without data */
  get data(): Data {
    const { envelope } = this
    if (!envelope.success) throw new Error(`expected a success, got ${this.status} ${this.text}`)
    return envelope.data
  }

  get code(): string | null {
    const { envelope } = this
    return envelope.success ? null : envelope.code
  }

  get details(): Readonly<Record<string, unknown>> {
    const { envelope } = this
    return envelope.success ? {} : (envelope.details ?? {})
  }

  /** The body without its requestId, which differs even if the responses are otherwise equal. */
  get sameness(): string {
    return this.text.replace(/"requestId":"[^"]*"/, '')
  }
}

export type Send = (request: WireRequest) => Promise<ApiResponse>

type Headers = Readonly<Record<string, string | string[] | number | undefined>>

const flat = (headers: Headers): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))

/** Returns a function that passes requests to the handler of a server without a socket. */
export function injectInto(app: Pick<App, 'respond'>): Send {
  return async ({ method, path, headers, body }) => {
    const payload = body === undefined ? {} : { payload: body }
    const response = await inject(app.respond, {
      method: method as 'GET',
      url: path,
      headers: { ...headers },
      ...payload,
    })
    return new ApiResponse(response.statusCode, flat(response.headers), response.body)
  }
}

/** Returns a function that sends requests over sockets, with the connections of `agent`. */
export function sendTo(baseUrl: string, agent: http.Agent): Send {
  return ({ method, path, headers, body }) =>
    new Promise((resolve, reject) => {
      const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
      const { request: open } = baseUrl.startsWith('https:') ? https : http
      const request = open(`${baseUrl}${path}`, { method, headers: { ...length, ...headers }, agent })
      request.on('error', reject)
      request.on('response', (response) => {
        const { statusCode = 0, headers } = response
        buffer(response).then((body) => resolve(new ApiResponse(statusCode, flat(headers), body.toString())), reject)
      })
      request.end(body)
    })
}

/** Builds the HTTP request of an endpoint: `input` has path parameters, query members and body members. */
export function wireOf(endpoint: Endpoint, input: Readonly<Record<string, unknown>> = {}): WireRequest {
  const rest = { ...input }
  let path: string = endpoint.path
  for (const name of pathParameters(endpoint.path)) {
    path = path.replace(`:${name}`, encodeURIComponent(String(rest[name])))
    delete rest[name]
  }
  const query = new URLSearchParams()
  for (const name of Object.keys(membersOf(endpoint.query))) {
    if (rest[name] !== undefined) query.set(name, String(rest[name]))
    delete rest[name]
  }
  const wire = { method: endpoint.method, path: query.size === 0 ? path : `${path}?${query}` }
  if (endpoint.body === undefined || (endpoint.bodyOptional && Object.keys(rest).length === 0)) return wire
  return { ...wire, headers: { 'content-type': 'application/json' }, body: JSON.stringify(rest) }
}

export interface Extra {
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
}

export type Caller = <E extends Endpoint>(
  endpoint: E,
  input: InputOf<E>,
  extra?: Extra,
) => Promise<ApiResponse<OutputOf<E>>>

let keysMade = 0
export const freshKey = (): string => `key-${++keysMade}`

/** Typed API calls with one credential; idempotent calls get a new idempotency key unless a test gives one. */
export function callerOf(send: Send, credential: string): Caller {
  return async <E extends Endpoint>(endpoint: E, input: InputOf<E>, { key, headers }: Extra = {}) => {
    const wire = wireOf(endpoint, input as Readonly<Record<string, unknown>>)
    const idempotency = endpoint.idempotent || key !== undefined ? { 'idempotency-key': key ?? freshKey() } : {}
    const authorization = `Bearer ${credential}`
    const response = await send({ ...wire, headers: { authorization, ...idempotency, ...wire.headers, ...headers } })
    return response as ApiResponse<OutputOf<E>>
  }
}
