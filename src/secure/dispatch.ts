import { encodeBase64url } from '../values/base64url.js'
import { IV_BYTES } from './aead.js'
import { type ClientSession, originHeader, unwrapSuccess } from './client/negotiation.js'
import { decodeBinary, type Envelope, open, seal } from './envelope.js'
import { fail, failOuter, type SecureFailure } from './failure.js'
import type { HttpRequest, HttpResponse } from './http.js'
import { readInnerResponse } from './inner-response.js'
import { isMediaType, MAX_ENVELOPE_BYTES, MEDIA_TYPE, paths, type RandomBytes } from './suite.js'

const RID_BYTES = 16

/** An encrypted request with its envelope, against which openResponse checks the response. */
export interface SealedRequest {
  readonly ok: true
  readonly request: HttpRequest
  readonly envelope: Envelope
}

/**
 * Encrypts a business request for one dispatch, with a fresh request id (rid) and IV.
 * @param plaintext result of encodeInnerRequest
 * @param ts milliseconds since 1970, by the server's clock
 */
export function sealRequest(
  plaintext: Uint8Array,
  session: ClientSession,
  ts: number,
  randomBytes: RandomBytes,
): SealedRequest | SecureFailure {
  const { kid, sid, origin } = session
  const head = { kid, sid, rid: encodeBase64url(randomBytes(RID_BYTES)), ts }
  const envelope = seal(session.keyC2s, 'c2s', head, randomBytes(IV_BYTES), plaintext)
  const body = JSON.stringify(envelope)
  if (Buffer.byteLength(body) > MAX_ENVELOPE_BYTES) return fail('SECURE_ENVELOPE_TOO_LARGE', 'local')
  const headers = { accept: MEDIA_TYPE, 'content-type': MEDIA_TYPE, ...originHeader(origin) }
  return { ok: true, envelope, request: { method: 'POST', path: paths.dispatch, headers, body } }
}

const repeated = ['v', 'suite', 'kid', 'sid', 'rid', 'ts'] as const

/**
 * Decrypts the response of a dispatch. Requires outer status 200, the media type, the six fields of the request, a
 * valid tag and an inner status. Accepting a plain-text response with status 200 would allow a downgrade.
 */
export function openResponse(
  outer: HttpResponse,
  sent: Envelope,
  { keyS2c }: Pick<ClientSession, 'keyS2c'>,
): { readonly ok: true; readonly response: HttpResponse } | SecureFailure {
  if (outer.status !== 200) return failOuter(outer, 'dispatch')
  const members = isMediaType(outer.headers['content-type']) ? unwrapSuccess(outer) : undefined
  const binary = members && repeated.every((name) => members[name] === sent[name]) ? decodeBinary(members) : undefined
  const plaintext = binary && open(keyS2c, 's2c', { ...sent, ...binary })
  const response = plaintext && readInnerResponse(plaintext)
  if (response === undefined)
    return fail('SECURE_ANSWER_INVALID', 'dispatch', { outerResponse: outer, maybeProcessed: true })
  return { ok: true, response }
}
