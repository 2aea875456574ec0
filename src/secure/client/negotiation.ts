import { decodeBase64url, encodeBase64url } from '../../values/base64url.js'
import { asMembers, type Members, parseJson } from '../../values/json.js'
import { isInstant } from '../envelope.js'
import { exchange, fail, failOuter, type SecureFailure } from '../failure.js'
import type { HttpRequest, HttpResponse, Send } from '../http.js'
import { deriveKeys, type SessionKeys } from '../key-schedule.js'
import { decodePublicKey, pinOf } from '../public-key.js'
import { PROTOCOL_VERSION, paths, type RandomBytes, SUITE } from '../suite.js'
import { agreeAsClient, type ClientKeyPair, makeClientKeyPair, nobleHkdf } from './key.js'

// Bootstrap and session on the client: builds requests and parses responses
// (rules/encryption.md#bootstrap-and-session).

/** A validated bootstrap response. */
export interface Bootstrap {
  readonly ok: true
  readonly enabled: true
  readonly kid: string
  /** 65 bytes. */
  readonly serverPublicKey: Uint8Array
  /** Pin of the server's public key: `sha256:` and 43 characters of base64url. */
  readonly pin: string
  /** Milliseconds since 1970. */
  readonly serverTime: number
}

/** Bootstrap response of a server whose encrypted transport is switched off; the client ignores any key in it. */
export interface DisabledBootstrap {
  readonly ok: true
  readonly enabled: false
}

/** Session state of a client, held in memory only. */
export interface ClientSession extends SessionKeys {
  readonly kid: string
  readonly sid: string
  readonly brand: string
  /** Web origin to which the session is bound; empty without an origin. */
  readonly origin: string
  /** Milliseconds since 1970, by the server's clock. */
  readonly expiresAt: number
  /** Length of the key derivation salt; the client discards the salt itself. */
  readonly saltBytes: number
}

// Other servers may use other formats: accept anything without '|', which separates the fields of AAD and HKDF info.
const IDENTIFIER = /^[!-{}~]{1,128}$/
const BRAND = /^[^|\p{Cc}]{1,128}$/u
const SALT_BYTES = { least: 16, most: 64 }

export const bootstrapRequest: HttpRequest = {
  method: 'GET',
  path: paths.bootstrap,
  headers: { accept: 'application/json' },
  repeatable: true,
}

/** Validates a bootstrap response: status, version, suite, key, and the pin of the key unless `pins` is empty. */
export function readBootstrap(
  response: HttpResponse,
  pins: readonly string[],
): Bootstrap | DisabledBootstrap | SecureFailure {
  if (response.status !== 200) return failOuter(response, 'bootstrap')
  const members = unwrapSuccess(response)
  if (members?.enabled === false) return { ok: true, enabled: false }
  if (members === undefined || members.enabled !== true) return fail('SECURE_BOOTSTRAP_INVALID', 'bootstrap')
  if (members.v !== PROTOCOL_VERSION || members.suite !== SUITE) return fail('SECURE_VERSION_UNSUPPORTED', 'bootstrap')
  const { kid, serverTime } = members
  const key = typeof members.serverPublicKey === 'string' ? decodePublicKey(members.serverPublicKey) : undefined
  if (key === undefined || !isIdentifier(kid) || !isInstant(serverTime)) {
    return fail('SECURE_BOOTSTRAP_INVALID', 'bootstrap')
  }
  const pin = pinOf(key)
  if (pins.length > 0 && !pins.includes(pin)) return fail('SECURE_PIN_MISMATCH', 'bootstrap')
  return { ok: true, enabled: true, kid, serverPublicKey: key, pin, serverTime }
}

/**
 * Milliseconds by which the server's clock is ahead. The server reads its clock between request and response, so the
 * reference is the midpoint of the two; the error is at most half of the round trip.
 */
export const clockOffsetOf = (serverTime: number, requestedAt: number, respondedAt: number) =>
  Math.round(serverTime - (requestedAt + respondedAt) / 2)

/** @param origin sent as the Origin header; `''` sends none */
export function sessionRequest({ kid }: Bootstrap, { publicKey }: ClientKeyPair, origin: string): HttpRequest {
  return {
    method: 'POST',
    path: paths.session,
    headers: { accept: 'application/json', 'content-type': 'application/json', ...originHeader(origin) },
    // The kid names the key of the bootstrap: after a rotation between the two calls, the server still uses that key.
    body: JSON.stringify({ clientPublicKey: encodeBase64url(publicKey), kid }),
    repeatable: true,
  }
}

/**
 * Validates a session response and derives the session keys.
 * @param serverNow milliseconds since 1970, by the server's clock
 */
export function readSession(
  response: HttpResponse,
  { kid, serverPublicKey }: Bootstrap,
  { privateKey }: ClientKeyPair,
  { origin, serverNow }: { readonly origin: string; readonly serverNow: number },
): { readonly ok: true; readonly session: ClientSession } | SecureFailure {
  if (response.status !== 200 && response.status !== 201) return failOuter(response, 'session')
  const { sid, salt: saltText, brand, origin: bound, expiresAt } = unwrapSuccess(response) ?? {}
  const salt = typeof saltText === 'string' ? decodeBase64url(saltText) : undefined
  const hasSalt = salt !== undefined && salt.length >= SALT_BYTES.least && salt.length <= SALT_BYTES.most
  if (!hasSalt || !isIdentifier(sid) || typeof brand !== 'string' || !BRAND.test(brand)) {
    return fail('SECURE_SESSION_INVALID', 'session')
  }
  if ((bound ?? '') !== origin || !isInstant(expiresAt) || expiresAt <= serverNow) {
    return fail('SECURE_SESSION_INVALID', 'session')
  }
  const keys = deriveKeys(nobleHkdf, agreeAsClient(privateKey, serverPublicKey), { sid, salt, brand, origin })
  return { ok: true, session: { kid, sid, brand, origin, expiresAt, saltBytes: salt.length, ...keys } }
}

export function originHeader(origin: string): Record<string, string> {
  return origin === '' ? {} : { origin }
}

/** Returns the members of a success, with or without the envelope of other endpoints (rules/calls.md#envelope). */
export function unwrapSuccess({ body }: HttpResponse): Members | undefined {
  const members = asMembers(parseJson(body))
  return members?.success === true ? asMembers(members.data) : members
}

function isIdentifier(value: unknown): value is string {
  return typeof value === 'string' && IDENTIFIER.test(value)
}

interface HandshakeContext {
  readonly send: Send
  /** `''` sends no Origin header. */
  readonly origin: string
  readonly pins: readonly string[]
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly randomBytes: RandomBytes
}

/** A session with the offset of the server's clock in ms, or `enabled: false` if the server switched encryption off. */
type Handshake =
  | { readonly ok: true; readonly enabled: true; readonly session: ClientSession; readonly offset: number }
  | { readonly ok: true; readonly enabled: false }
  | SecureFailure

/** Reads the bootstrap, then opens a session with a fresh key pair. Reads the server's key each time: it rotates. */
export async function negotiate(
  { send, origin, pins, now, randomBytes }: HandshakeContext,
  limits: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<Handshake> {
  const requestedAt = now()
  const described = await exchange(send, { ...bootstrapRequest, ...limits }, 'bootstrap')
  if (!described.ok) return described
  const bootstrap = readBootstrap(described.response, pins)
  if (!bootstrap.ok || !bootstrap.enabled) return bootstrap
  const offset = clockOffsetOf(bootstrap.serverTime, requestedAt, now())

  const keyPair = makeClientKeyPair(randomBytes)
  const opened = await exchange(send, { ...sessionRequest(bootstrap, keyPair, origin), ...limits }, 'session')
  if (!opened.ok) return opened
  const read = readSession(opened.response, bootstrap, keyPair, { origin, serverNow: now() + offset })
  return read.ok ? { ok: true, enabled: true, session: read.session, offset } : read
}
