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

const binary = (description: string) => Type.String({ description: `${description}; unpadded base64url` })
const KEY = '65 bytes, an uncompressed point of P-256'
const publicKey = Type.String({ pattern: '^[A-Za-z0-9_-]{87}$', description: `${KEY}; unpadded base64url` })
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
    v: Type.Integer(),
    suite: oneOf([SUITE]),
    enabled: Type.Boolean(),
    kid: Type.String(),
    serverPublicKey: binary(KEY),
    serverTime: Type.Integer({ description: 'milliseconds since 1970' }),
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
    sid: Type.String(),
    salt: binary('32 bytes'),
    brand: Type.String(),
    origin: Type.String({ description: 'empty when the session is not bound to one' }),
    expiresAt: Type.Integer({ description: 'milliseconds since 1970' }),
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
  v: Type.Integer(),
  suite: oneOf([SUITE]),
  kid: Type.String(),
  sid: Type.String(),
  rid: Type.String({ pattern: '^[A-Za-z0-9_-]{16,64}$' }),
  ts: Type.Integer({ description: 'milliseconds since 1970' }),
  iv: binary('12 bytes'),
  ciphertext: binary('ciphertext and 16 bytes of tag'),
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
