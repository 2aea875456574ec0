import { MEDIA_TYPE, paths } from '../../../src/secure/index.js'
import type { Meddling } from '../conform/recording-proxy.js'

const json = (status: number, body: unknown, headers: Record<string, string> = {}): Meddling => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
})
const refusal = (status: number, code: string) => json(status, { success: false, code, message: `Refused: ${code}` })

/** Flips the last bit of the ciphertext, which is part of the authentication tag. */
const withOtherTag = (body: string) => {
  const envelope = JSON.parse(body) as { ciphertext: string }
  const sealed = Buffer.from(envelope.ciphertext, 'base64url')
  sealed[sealed.length - 1] = (sealed.at(-1) ?? 0) ^ 1
  return JSON.stringify({ ...envelope, ciphertext: sealed.toString('base64url') })
}

export interface SecureFault {
  readonly name: string
  /** Protocol path (bootstrap, session or dispatch) at which the proxy injects the fault. */
  readonly at: string
  readonly how: Meddling
  /** Error code of a command with --retries 0; `exit` is its exit code. */
  readonly code: string
  readonly exit: number
  /** Pattern that the error message of the command must match. */
  readonly says: RegExp
}

const anywhere = (at: string): readonly SecureFault[] => {
  const isDispatch = at === paths.dispatch
  const word = at.split('/').at(-1)
  const refused = {
    at,
    code: 'SECURE_ANSWER_REFUSED',
    exit: 10,
    says: new RegExp(`responded with \\d+ to the ${word} call`),
  }
  const invalid = { bootstrap: 'SECURE_BOOTSTRAP_INVALID', session: 'SECURE_SESSION_INVALID' }[word ?? '']
  const doubt = /It may have been done all the same/
  const unread = { at, code: invalid ?? 'SECURE_ANSWER_INVALID', exit: 10, says: isDispatch ? doubt : /secure check/ }
  const certainty = isDispatch ? doubt : /before the call itself was sent/
  const lost = { at, code: 'NETWORK_ERROR', exit: 9, says: certainty }
  return [
    { name: 'breaks', ...lost, how: 'drop' },
    { name: 'breaks in the middle of its response', ...lost, how: 'cut' },
    { name: 'gets no response', at, how: 'hang', code: 'TIMEOUT', exit: 9, says: /No complete response/ },
    {
      name: 'returns garbage',
      ...unread,
      how: { status: 200, headers: { 'content-type': MEDIA_TYPE }, body: '\u0000{' },
    },
    {
      name: 'returns a web page',
      ...unread,
      how: { status: 200, headers: { 'content-type': 'text/html' }, body: '<p>' },
    },
    {
      name: 'returns an unencrypted success',
      ...unread,
      how: json(200, { success: true, data: { redeemable: true } }),
    },
    { name: 'returns 404', ...refused, how: json(404, {}) },
    { name: 'redirects', ...refused, how: json(307, {}, { location: '/api/v1/open-platform/vouchers/verify' }) },
    { name: 'returns 401', ...refused, how: refusal(401, 'TOKEN_INVALID') },
    {
      name: 'returns 429',
      at,
      how: refusal(429, 'RATE_LIMITED'),
      code: 'RATE_LIMITED',
      exit: 7,
      says: /responded with 429/,
    },
    {
      name: 'returns 502',
      at,
      how: { status: 502, body: '' },
      code: 'INVALID_RESPONSE',
      exit: 9,
      says: /responded with 502/,
    },
    {
      name: 'returns 426',
      at,
      how: refusal(426, 'SECURE_TRANSPORT_REQUIRED'),
      code: 'SECURE_TRANSPORT_REQUIRED',
      exit: 10,
      says: /requires the encrypted transport/,
    },
    {
      name: 'reports a disabled transport',
      at,
      how: refusal(403, 'SECURE_TRANSPORT_DISABLED'),
      code: 'SECURE_TRANSPORT_DISABLED',
      exit: 10,
      says: /Only with --secure off/,
    },
  ]
}

/** A valid public key on P-256 that belongs to no server. */
const otherKey = 'BGsX0fLhLEJH-Lzm5WOkQPJ3A32BLeszoPShOUXYmMKWT-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU'

const change = (members: Record<string, unknown>) => (body: string) =>
  JSON.stringify({ ...(JSON.parse(body) as object), ...members })

/** Faults that a proxy between client and server injects, with the failure that they must cause. */
export const secureFaults: readonly SecureFault[] = [
  ...[paths.bootstrap, paths.session, paths.dispatch].flatMap(anywhere),
  {
    name: 'says enabled: false',
    at: paths.bootstrap,
    how: change({ enabled: false }),
    code: 'SECURE_TRANSPORT_DISABLED',
    exit: 10,
    says: /switched off/,
  },
  {
    name: 'offers another suite',
    at: paths.bootstrap,
    how: change({ suite: 'NULL' }),
    code: 'SECURE_VERSION_UNSUPPORTED',
    exit: 10,
    says: /version/,
  },
  {
    name: 'offers a key that is not on the curve',
    at: paths.bootstrap,
    how: change({ serverPublicKey: `${otherKey.slice(0, -1)}A` }),
    code: 'SECURE_BOOTSTRAP_INVALID',
    exit: 10,
    says: /secure check/,
  },
  {
    name: 'offers the key of another server',
    at: paths.bootstrap,
    how: change({ serverPublicKey: otherKey }),
    code: 'DECRYPTION_FAILED',
    exit: 10,
    says: /could not decrypt/,
  },
  {
    name: 'binds the session to another origin',
    at: paths.session,
    how: change({ origin: 'https://evil.example' }),
    code: 'SECURE_SESSION_INVALID',
    exit: 10,
    says: /secure check/,
  },
  {
    name: 'returns an altered authentication tag',
    at: paths.dispatch,
    how: withOtherTag,
    code: 'SECURE_ANSWER_INVALID',
    exit: 10,
    says: /was changed on its way/,
  },
  {
    name: 'always reports an expired session',
    at: paths.dispatch,
    how: refusal(409, 'SECURE_SESSION_EXPIRED'),
    code: 'SECURE_SESSION_EXPIRED',
    exit: 10,
    says: /expired/,
  },
  {
    name: 'reports a clock difference',
    at: paths.dispatch,
    how: refusal(400, 'REQUEST_TIMESTAMP_OUT_OF_RANGE'),
    code: 'REQUEST_TIMESTAMP_OUT_OF_RANGE',
    exit: 10,
    says: /clock/,
  },
  {
    name: 'reports a replay',
    at: paths.dispatch,
    how: refusal(409, 'REQUEST_REPLAYED'),
    code: 'REQUEST_REPLAYED',
    exit: 10,
    says: /It may have been done all the same/,
  },
]
