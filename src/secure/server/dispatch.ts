import { decodeUtf8, parseJson } from '../../values/json.js'
import { IV_BYTES } from '../aead.js'
import { type Envelope, type EnvelopeHead, open, parseEnvelope, type SealedMessage, seal } from '../envelope.js'
import type { HttpResponse } from '../http.js'
import { writeInnerResponse } from '../inner-response.js'
import {
  CLOCK_SKEW_MS,
  isMediaType,
  MAX_ENVELOPE_BYTES,
  type RandomBytes,
  refuse,
  type SecureRefusal,
} from '../suite.js'
import type { ServerSession } from './session.js'

// Steps of a dispatch, in the order of rules/encryption.md#dispatch-order: checkDispatchHead; readDispatch; session
// look-up; openDispatch, which verifies the tag; after it the caller's atomic insert of (sid, rid), which detects
// replays; readInnerRequest. From then on, the server encrypts every response with sealResponse.

/** Checks the headers of a dispatch (names in lower case); undefined when they are valid. */
export function checkDispatchHead(
  headers: Readonly<Record<string, string | undefined>>,
): SecureRefusal<'UNSUPPORTED_MEDIA_TYPE' | 'SECURE_ENVELOPE_TOO_LARGE'> | undefined {
  if (!isMediaType(headers['content-type']) || headers['content-encoding'] !== undefined) {
    return refuse('UNSUPPORTED_MEDIA_TYPE')
  }
  return Number(headers['content-length'] ?? 0) > MAX_ENVELOPE_BYTES ? refuse('SECURE_ENVELOPE_TOO_LARGE') : undefined
}

export type DispatchReading =
  | { readonly ok: true; readonly message: SealedMessage }
  | SecureRefusal<
      | 'SECURE_ENVELOPE_TOO_LARGE'
      | 'SECURE_ENVELOPE_INVALID'
      | 'SECURE_VERSION_UNSUPPORTED'
      | 'REQUEST_TIMESTAMP_OUT_OF_RANGE'
    >

/**
 * Checks the body of a dispatch: size, form, then timestamp.
 * @param now milliseconds since 1970
 */
export function readDispatch(body: Uint8Array, now: number): DispatchReading {
  if (body.length > MAX_ENVELOPE_BYTES) return refuse('SECURE_ENVELOPE_TOO_LARGE')
  const text = decodeUtf8(body)
  const parsed = parseEnvelope(text === undefined ? undefined : parseJson(text))
  if (parsed.ok && Math.abs(now - parsed.message.ts) > CLOCK_SKEW_MS) return refuse('REQUEST_TIMESTAMP_OUT_OF_RANGE')
  return parsed
}

export interface DispatchContext {
  /** The session with the sid of the message; undefined when the session is unknown or removed. */
  readonly session: ServerSession | undefined
  /** The Origin header; undefined without one. */
  readonly origin: string | undefined
  /** Milliseconds since 1970. */
  readonly now: number
}

export type DispatchOpening =
  | { readonly ok: true; readonly plaintext: Uint8Array; readonly session: ServerSession }
  | SecureRefusal<
      'SECURE_SESSION_EXPIRED' | 'SECURE_SESSION_MISMATCH' | 'SECURE_SESSION_ORIGIN_MISMATCH' | 'DECRYPTION_FAILED'
    >

/** Checks session, kid and origin of a message, verifies its tag and decrypts it. */
export function openDispatch(message: SealedMessage, { session, origin, now }: DispatchContext): DispatchOpening {
  if (session === undefined || session.sid !== message.sid || now >= session.expiresAt) {
    return refuse('SECURE_SESSION_EXPIRED')
  }
  if (message.kid !== session.kid) return refuse('SECURE_SESSION_MISMATCH')
  if ((origin ?? '') !== session.origin) return refuse('SECURE_SESSION_ORIGIN_MISMATCH')
  const plaintext = open(session.keyC2s, 'c2s', message)
  return plaintext === undefined ? refuse('DECRYPTION_FAILED') : { ok: true, plaintext, session }
}

/**
 * Encrypts a business response with the head of its request.
 * @param response header names in lower case; `body` is JSON text or empty
 */
export function sealResponse(
  request: EnvelopeHead,
  { keyS2c }: Pick<ServerSession, 'keyS2c'>,
  response: HttpResponse,
  randomBytes: RandomBytes,
): Envelope {
  return seal(keyS2c, 's2c', request, randomBytes(IV_BYTES), writeInnerResponse(response))
}
