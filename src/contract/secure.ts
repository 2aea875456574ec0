import type { Endpoint } from './endpoint.js'
import { input, oneOf } from './fields.js'
import { Type } from './schema.js'

/**
 * Endpoints of the encrypted transport. They take no credential and return successes outside the envelope. The gateway
 * binds them, because its order of checks differs (rules/encryption.md#dispatch-order).
 */
type OpenEndpoint = Pick<
  Endpoint,
  'id' | 'summary' | 'method' | 'path' | 'limit' | 'body' | 'status' | 'output' | 'failures'
> & {
  /** Media type of request and response. */
  readonly media: string
}

const binary = (description: string, example: string) =>
  Type.String({ description: `${description}; unpadded base64url`, example })
const KEY = '65 bytes, an uncompressed point of P-256'
const EXAMPLE_KEY = `B${'A'.repeat(86)}`
const version = Type.Integer({ example: 1 })
const kid = Type.String({ example: 'q2Hn5fZ0Xw1LkT8c' })
const sid = Type.String({ example: 'ss_AAECAwQFBgcICQoLDA0ODw' })
const milliseconds = (example: number) => Type.Integer({ description: 'milliseconds since 1970', example })
const publicKey = Type.String({
  pattern: '^[A-Za-z0-9_-]{87}$',
  description: `${KEY}; unpadded base64url`,
  example: EXAMPLE_KEY,
})
const alias = Type.String({ pattern: '^[A-Za-z0-9_-]{87}$', description: 'instead of clientPublicKey' })
const SUITE = 'P256-HKDF-SHA256-A256GCM'

export const bootstrap: OpenEndpoint = {
  id: 'secure.bootstrap',
  summary: 'Read version, suite and public key of the encrypted transport',
  method: 'GET',
  path: '/api/v1/secure/bootstrap',
  media: 'application/json',
  status: 200,
  output: Type.Object({
    v: version,
    suite: oneOf([SUITE]),
    enabled: Type.Boolean({ example: true }),
    kid,
    serverPublicKey: binary(KEY, EXAMPLE_KEY),
    serverTime: milliseconds(1_795_255_200_000),
  }),
  failures: ['VALIDATION_FAILED'],
}

export const session: OpenEndpoint = {
  id: 'secure.session',
  summary: 'Open a session with an ephemeral key',
  method: 'POST',
  path: '/api/v1/secure/session',
  media: 'application/json',
  limit: 'secure_session',
  body: input({
    clientPublicKey: Type.Optional(publicKey),
    publicKey: Type.Optional(alias),
    kid: Type.Optional(Type.String()),
    v: Type.Optional(Type.Integer()),
    suite: Type.Optional(oneOf([SUITE])),
  }),
  status: 200,
  output: Type.Object({
    sid,
    salt: binary('32 bytes', 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8'),
    brand: Type.String({ example: 'platform' }),
    origin: Type.String({ description: 'empty when the session is not bound to one', example: '' }),
    expiresAt: milliseconds(1_795_255_800_000),
  }),
  failures: [
    'SECURE_TRANSPORT_DISABLED',
    'RATE_LIMITED',
    'UNSUPPORTED_MEDIA_TYPE',
    'PAYLOAD_TOO_LARGE',
    'INVALID_JSON',
    'VALIDATION_FAILED',
    'SECURE_ORIGIN_NOT_ALLOWED',
    'SECURE_VERSION_UNSUPPORTED',
    'SECURE_PUBLIC_KEY_INVALID',
    'SECURE_SESSION_MISMATCH',
  ],
}

const envelope = input({
  v: version,
  suite: oneOf([SUITE]),
  kid,
  sid,
  rid: Type.String({ pattern: '^[A-Za-z0-9_-]{16,64}$', example: 'rid_0123456789abcdef' }),
  ts: milliseconds(1_795_255_200_000),
  iv: binary('12 bytes', 'AAECAwQFBgcICQoL'),
  ciphertext: binary('ciphertext and 16 bytes of tag', 'w0aE3Qm6zq8v2fLJ5n1oKc4hYdSxTgRbUeWiPAt7Z9k'),
})

export const dispatch: OpenEndpoint = {
  id: 'secure.dispatch',
  summary: 'Make one encrypted call; once decrypted, its response is encrypted too',
  method: 'POST',
  path: '/api/v1/secure/dispatch',
  media: 'application/vnd.platform.secure+json',
  body: envelope,
  status: 200,
  output: envelope,
  failures: [
    'SECURE_TRANSPORT_DISABLED',
    'UNSUPPORTED_MEDIA_TYPE',
    'SECURE_ENVELOPE_TOO_LARGE',
    'VALIDATION_FAILED',
    'SECURE_ENVELOPE_INVALID',
    'SECURE_VERSION_UNSUPPORTED',
    'REQUEST_TIMESTAMP_OUT_OF_RANGE',
    'SECURE_SESSION_EXPIRED',
    'SECURE_SESSION_MISMATCH',
    'SECURE_SESSION_ORIGIN_MISMATCH',
    'DECRYPTION_FAILED',
    'REQUEST_REPLAYED',
    'SECURE_REQUEST_INVALID',
  ],
}

export const openEndpoints: readonly OpenEndpoint[] = [bootstrap, session, dispatch]

export const isOpenEndpoint = (id: string | null) => openEndpoints.some((it) => it.id === id)
