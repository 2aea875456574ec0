import type { Endpoint } from '../../../../src/contract/endpoint.js'
import type { Random } from '../../../faults/random.js'
import type { WireRequest } from '../../../support/server/client.js'

type Change = (request: WireRequest, random: Random, endpoint: Endpoint) => WireRequest

const withBody = (request: WireRequest, change: (body: Record<string, unknown>) => void): WireRequest => {
  if (typeof request.body !== 'string') return { ...request, path: `${request.path}?unknown=1` }
  const body = JSON.parse(request.body) as Record<string, unknown>
  change(body)
  return { ...request, body: JSON.stringify(body) }
}

const withHeaders = (request: WireRequest, headers: Record<string, string | undefined>): WireRequest => {
  const kept = Object.entries({ ...request.headers, ...headers }).filter(
    (it): it is [string, string] => it[1] !== undefined,
  )
  return { ...request, headers: Object.fromEntries(kept) }
}

const anyMember = (body: object, random: Random) => random.pick([...Object.keys(body), 'unknown'])

const changes: readonly Change[] = [
  (request) => ({ ...request, body: '{"a":', headers: { ...request.headers, 'content-type': 'application/json' } }),
  (request) => ({ ...request, body: '[]', headers: { ...request.headers, 'content-type': 'application/json' } }),
  (request, random) => withBody(request, (body) => void delete body[anyMember(body, random)]),
  (request, random) =>
    withBody(
      request,
      (body) => void (body[anyMember(body, random)] = random.pick([null, 5, 'x', [], {}, 1e300, '\u0000', '\ud800'])),
    ),
  (request, random) =>
    withBody(request, (body) => void (body[anyMember(body, random)] = 'x'.repeat(random.pick([300, 5_000, 70_000])))),
  (request) => withHeaders(request, { authorization: undefined }),
  (request) => withHeaders(request, { authorization: 'Bearer vat_unknown' }),
  (request) => withHeaders(request, { 'content-type': 'text/plain' }),
  (request) => withHeaders(request, { 'idempotency-key': undefined }),
  (request) => withHeaders(request, { 'idempotency-key': 'two words' }),
  (request, random) => ({
    ...request,
    path: `${request.path.split('?')[0]}?${random.pick(['page=0', 'limit=101', 'limit=x', 'a=1&a=2', 'page=%00'])}`,
  }),
  (request) => ({ ...request, path: `${request.path}/unknown` }),
  (request) => ({ ...request, method: request.method === 'GET' ? 'DELETE' : 'PUT' }),
]

/** Changes one thing in a request, which the server should refuse. */
export function malformed(endpoint: Endpoint, request: WireRequest, random: Random): WireRequest {
  return random.pick(changes)(request, random, endpoint)
}
