import { randomBytes } from 'node:crypto'
import type { TransportResponse } from '../../../../src/client/transport.js'
import { makeClientKeyPair } from '../../../../src/secure/client/key.js'
import { paths } from '../../../../src/secure/suite.js'
import { encodeBase64url } from '../../../../src/values/base64url.js'
import { bodyOf, type Call, codeOf, type Deviate, deviants, responds, sends } from '../deviants.js'
import { insideSessions } from '../inner-deviation.js'

/** True for calls whose path starts with a text. */
const at =
  (start: string): Call =>
  ({ path }) =>
    path.startsWith(start)

/** Changes members of the JSON that a path returns with 200. */
const bodies = (path: string, change: (body: Readonly<Record<string, unknown>>) => object): Deviate =>
  responds(at(path), (response) =>
    response.status === 200 ? { body: JSON.stringify({ ...bodyOf(response), ...change(bodyOf(response)) }) } : {},
  )

/** Accepts an envelope again that `calls` others have followed: remembers the latest only. */
const forgets =
  (calls: number): Deviate =>
  (plain) => {
    const seen: (readonly [body: string, response: TransportResponse])[] = []
    return async (request) => {
      const { path, body = '' } = request
      const index = path === paths.dispatch ? seen.findIndex(([it]) => it === body) : -1
      const known = seen[index]?.[1]
      if (known !== undefined && seen.length - index > calls) return known
      const response = await plain(request)
      if (path === paths.dispatch && response.status === 200) seen.push([body, response])
      return response
    }
  }

const replaced = (code: string, status: number): Deviate =>
  responds(at(paths.dispatch), (response) => (codeOf(response) === code ? { status } : {}))

const otherOrigin = 'https://elsewhere.example'

/** Accepts dispatches from another origin than their session's. */
const anyOrigin: Deviate = (plain) => async (request) => {
  const { origin, ...headers } = request.headers
  if (request.path !== paths.dispatch || origin !== otherOrigin) return plain(request)
  const bound = await plain({ ...request, headers: { ...headers, origin: 'https://conform.example' } })
  return codeOf(bound) === 'SECURE_SESSION_ORIGIN_MISMATCH' ? plain({ ...request, headers }) : bound
}

const validKey = encodeBase64url(makeClientKeyPair(randomBytes).publicKey)
const isShort = (body: string | undefined) => String(bodyOf({ body }).clientPublicKey).length === 44

/** Deviant servers by the probes that report them. */
export const encryption = deviants({
  'encrypted-transport/suite': bodies(paths.bootstrap, () => ({ suite: 'P256' })),
  'bootstrap-and-session/kid': bodies(paths.bootstrap, () => ({ kid: 'key-1' })),
  'bootstrap-and-session/server-time': bodies(paths.bootstrap, ({ serverTime }) => ({
    serverTime: Math.floor(Number(serverTime) / 1000),
  })),
  'bootstrap-and-session/lifetime': bodies(paths.session, ({ expiresAt }) => ({
    expiresAt: Number(expiresAt) - 300_000,
  })),
  'bootstrap-and-session/no-origin': bodies(paths.session, ({ origin }) => ({ origin: origin === '' ? null : origin })),
  'bootstrap-and-session/request-keys': insideSessions({
    keys: (secret, context) => [secret, { ...context, brand: 'other' }],
  }),
  'bootstrap-and-session/leading-zeros': insideSessions({
    keys: (secret, context) => [secret[0] === 0 ? secret.subarray(1) : secret, context],
  }),
  'public-keys/compressed': sends(at(paths.session), ({ body = '' }) =>
    isShort(body) ? { body: JSON.stringify({ clientPublicKey: validKey }) } : {},
  ),
  'envelopes/media-type-of-response': responds(at(paths.dispatch), ({ status, headers }) =>
    status === 200 ? { headers: { ...headers, 'content-type': 'application/json' } } : {},
  ),
  'envelopes/repeated-fields': bodies(paths.dispatch, () => ({ ts: 0 })),
  'envelopes/replay dispatch-order/replay replay-marks/after-other-calls': forgets(0),
  'replay-marks/after-other-calls': forgets(20),
  'dispatch-order/replay': replaced('REQUEST_REPLAYED', 400),
  'dispatch-order/tag dispatch-order/additional-data': replaced('DECRYPTION_FAILED', 401),
  'inner-requests/query-in-path': insideSessions({
    request: (call) => {
      const [path, query] = String(call.path).split('?')
      return query === undefined ? call : { ...call, path, query: Object.fromEntries(new URLSearchParams(query)) }
    },
  }),
  'inner-responses/success': insideSessions({ response: (it) => (it.status === 200 ? { ...it, status: 302 } : it) }),
  'session-origins/other-origin dispatch-order/origin dispatch-order/origin-before-tag': anyOrigin,
  'required-encryption/upgrade': responds(
    at('/api/v1/open-platform'),
    ({ status, headers: { upgrade: _, ...headers } }) => (status === 426 ? { headers } : {}),
  ),
})
