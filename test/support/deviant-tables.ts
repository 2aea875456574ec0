import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TransportRequest, TransportResponse } from '../../src/client/transport.js'
import { ruleOf } from '../../src/conform/probe.js'
import { asMembers, parseJson } from '../../src/secure/json.js'
import { type Reference, startReference } from './conform.js'
import { changedBody, type Deviate } from './deviants.js'
import { isWhole, someOf } from './extent.js'

export type { Deviate } from './deviants.js'
// biome-ignore lint/suspicious/noExplicitAny: members of any request or response
export type Data = any
export type When = (request: TransportRequest) => boolean

/** @param call pattern of the whole method, path and query, such as `GET /api/v1/bots/my` */
export const on =
  (call: string): When =>
  ({ method, path }) =>
    new RegExp(`^(?:${call})(?:\\?.*)?$`).test(`${method} ${path}`)

export const bodyOf = ({ body }: TransportRequest): Data => asMembers(parseJson(body ?? '')) ?? {}
export const bearerOf = ({ headers }: TransportRequest) => (headers.authorization ?? '').replace('Bearer ', '')
const jsonOf = ({ body }: TransportResponse): Data => asMembers(parseJson(body)) ?? {}
export const codeOf = (response: TransportResponse): string | undefined => jsonOf(response).code

/** A request with another body. */
export const withBody = (request: TransportRequest, body: Data): TransportRequest => ({
  ...request,
  headers: { ...request.headers, 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

/** Changes requests on their way to the server. */
export const sends =
  (when: When, change: (request: TransportRequest) => Partial<TransportRequest>): Deviate =>
  (next) =>
  (request) =>
    next(when(request) ? { ...request, ...change(request) } : request)

/** Changes the members of bodies on their way to the server. */
export const sendsBody = (when: When, change: (body: Data) => Data): Deviate =>
  sends(when, ({ headers, body }) => ({
    headers: { ...headers, ...(body === undefined && { 'content-type': 'application/json' }) },
    body: changedBody(body, change) ?? '',
  }))

type Change = (
  response: TransportResponse,
  request: TransportRequest,
) => Partial<TransportResponse> | Promise<Partial<TransportResponse>>

export const responds =
  (when: When, change: Change): Deviate =>
  (next) =>
  async (request) => {
    const response = await next(request)
    return when(request) ? { ...response, ...(await change(response, request)) } : response
  }

/** Changes `data` of successes. */
export const returns = (when: When, change: (data: Data, request: TransportRequest) => Data): Deviate =>
  responds(when, (response, request) => {
    if (response.status > 299) return {}
    const json = jsonOf(response)
    return { body: JSON.stringify({ ...json, data: change(json.data, request) }) }
  })

/** Changes the envelope of refusals. */
export const returnsRefusal = (when: When, change: (json: Data) => Data): Deviate =>
  responds(when, (response) => (response.status < 400 ? {} : { body: JSON.stringify(change(jsonOf(response))) }))

export const success = (data: Data = {}): TransportResponse => ({
  status: 200,
  headers: {},
  body: JSON.stringify({ success: true, data, requestId: 'req_deviant' }),
})

export const refusal = (status: number, code = 'DEVIANT'): TransportResponse => ({
  status,
  headers: {},
  body: JSON.stringify({ success: false, code, message: 'No.', retryable: false, details: {}, requestId: 'req_1' }),
})

/** Accepts, without an effect, what the reference refuses with a status. */
export const accepts = (when: When, status: number, also: When = () => true): Deviate =>
  responds(when, (response, request) => (response.status === status && also(request) ? success() : {}))

/** Accepts what the reference refuses with a code. */
export const acceptsCode = (when: When, code: string): Deviate =>
  responds(when, (response) => (codeOf(response) === code ? success() : {}))

/** Refuses calls that the reference accepts. */
export const refuses =
  (when: When, status: number, code?: string): Deviate =>
  (next) =>
  async (request) =>
    when(request) ? refusal(status, code) : next(request)

/** A deviant server, and the probe that reports it. */
export type Deviant = readonly [probe: `${string}/${string}`, deviate: Deviate]

/**
 * Tests that each probe reports its deviant server. In the long project the probes of all rules run with the first one
 * of a rule, and those of the other rules report nothing. Each rule has a reference of its own, because an account has at most 20 bots.
 */
export function testDeviants(
  rules: readonly string[],
  deviants: readonly Deviant[],
  options: { readonly autoApprove?: boolean } = {},
): void {
  const byRule = new Map<string, Deviant[]>()
  for (const it of someOf(deviants))
    byRule.set(ruleOf({ id: it[0] }), [...(byRule.get(ruleOf({ id: it[0] })) ?? []), it])
  describe.each([...byRule])('rule %s', (rule, own) => {
    let reference: Reference
    beforeAll(async () => {
      reference = await startReference(options)
    })
    afterAll(() => reference.close())

    test.each(own)('reports the deviant server of %s', async (id, deviate) => {
      const only = isWhole && id === own[0]?.[0] ? [rule, ...rules] : [rule]
      const { results } = await reference.run({ only, deviate })
      const reported = results.filter(({ result }) => result === 'differs')
      expect(reported.map(({ probe }) => probe)).toContain(id)
      expect(reported.filter((it) => it.rule !== rule)).toEqual([])
    })
  })
}
