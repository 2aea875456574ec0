import { asMembers, type Members, parseJson } from '../values/json.js'
import type { HttpRequest, HttpResponse, Send } from './http.js'
import type { InnerPart } from './inner-request.js'
import { type SecureCode, secureCodes } from './suite.js'

/** Codes of failures that the client detects; servers never send them. */
export type ClientCode =
  /** The client received a malformed bootstrap response. */
  | 'SECURE_BOOTSTRAP_INVALID'
  /** The session response is malformed, has expired or names another origin. */
  | 'SECURE_SESSION_INVALID'
  /** The server's key matches no pin. */
  | 'SECURE_PIN_MISMATCH'
  /** The response of a dispatch cannot be verified; its content is discarded. */
  | 'SECURE_ANSWER_INVALID'
  /** An endpoint returned neither a success nor a code of this protocol; see `outerResponse`. */
  | 'SECURE_ANSWER_REFUSED'
  /** No complete response arrived; see `cause`. */
  | 'SECURE_NO_ANSWER'
  | 'SECURE_TIMEOUT'
  | 'SECURE_ABORTED'

export type SecureFailureCode = SecureCode | ClientCode

/** Step at which a call failed. `local`: before sending. `plain`: the call itself, where the mode allows plain text. */
export type Phase = 'local' | 'bootstrap' | 'session' | 'dispatch' | 'plain'

export interface SecureFailure {
  readonly ok: false
  readonly code: SecureFailureCode
  readonly message: string
  readonly phase: Phase
  /** True when the server may have processed the business request despite the failure. */
  readonly maybeProcessed: boolean
  /** The part of the request that breaks a rule; set for a SECURE_REQUEST_INVALID that the client detects. */
  readonly part?: InnerPart
  /** The outer response that caused the failure. It is not authenticated: never treat it as a business response. */
  readonly outerResponse?: HttpResponse
  /** The error that the transport threw. */
  readonly cause?: unknown
}

const messages: Readonly<Record<SecureFailureCode, string>> = {
  METHOD_NOT_ALLOWED: 'The server does not take this method here.',
  UNSUPPORTED_MEDIA_TYPE: 'The server does not take the media type of the encrypted transport.',
  SECURE_ENVELOPE_TOO_LARGE: 'The request is too large for the encrypted transport.',
  SECURE_ENVELOPE_INVALID: 'The server could not read the envelope.',
  SECURE_VERSION_UNSUPPORTED: 'Client and server do not share a version of the encrypted transport.',
  REQUEST_TIMESTAMP_OUT_OF_RANGE: 'The clocks of client and server differ too much.',
  SECURE_SESSION_EXPIRED: 'The session has expired.',
  SECURE_SESSION_MISMATCH: 'The server does not know this session under this key.',
  SECURE_SESSION_ORIGIN_MISMATCH: 'The session belongs to another origin.',
  DECRYPTION_FAILED: 'The server could not decrypt the request.',
  REQUEST_REPLAYED: 'The server has already processed this envelope.',
  SECURE_PUBLIC_KEY_INVALID: 'The server did not accept the public key.',
  SECURE_ORIGIN_NOT_ALLOWED: 'The server does not allow this origin.',
  SECURE_TRANSPORT_REQUIRED: 'The server requires the encrypted transport.',
  SECURE_TRANSPORT_DISABLED: 'The encrypted transport is switched off on this server.',
  SECURE_REQUEST_INVALID: 'This request cannot travel through the encrypted transport.',
  SECURE_BOOTSTRAP_INVALID: 'The server did not describe its encrypted transport in a way that can be used.',
  SECURE_SESSION_INVALID: 'The server did not open a session that can be used.',
  SECURE_PIN_MISMATCH: 'The key of the server is none of the pinned ones.',
  SECURE_ANSWER_INVALID: 'The response belongs to another request, or was changed on its way.',
  SECURE_ANSWER_REFUSED: 'The server did not take part in the encrypted transport.',
  SECURE_NO_ANSWER: 'No complete response arrived.',
  SECURE_TIMEOUT: 'No complete response arrived in time.',
  SECURE_ABORTED: 'The call was aborted.',
}

export function fail(
  code: SecureFailureCode,
  phase: Phase,
  more: Partial<Pick<SecureFailure, 'maybeProcessed' | 'part' | 'outerResponse' | 'cause'>> = {},
): SecureFailure {
  return { ok: false, code, message: messages[code], phase, maybeProcessed: false, ...more }
}

/**
 * Converts an unsuccessful outer response to a failure. Every code of the protocol except REQUEST_REPLAYED means that
 * the server did not call the business endpoint; it processed a replayed envelope earlier.
 */
export function failOuter(outerResponse: HttpResponse, phase: Phase): SecureFailure {
  const { status } = outerResponse
  const code = status >= 400 ? secureCodeOf(outerResponse.body) : undefined
  const declined = code === undefined ? (status >= 300 && status < 500) || status === 503 : code !== 'REQUEST_REPLAYED'
  return fail(code ?? 'SECURE_ANSWER_REFUSED', phase, {
    outerResponse,
    maybeProcessed: phase === 'dispatch' && !declined,
  })
}

/** Sends one HTTP request and returns errors of the transport as failures. */
export async function exchange(
  send: Send,
  request: HttpRequest,
  phase: Phase,
): Promise<{ readonly ok: true; readonly response: HttpResponse } | SecureFailure> {
  try {
    return { ok: true, response: await send(request) }
  } catch (cause) {
    const isCertain = typeof cause === 'object' && cause !== null && (cause as Members).maybeProcessed === false
    return fail('SECURE_NO_ANSWER', phase, { cause, maybeProcessed: isBusiness(phase) && !isCertain })
  }
}

/** True for the phases that send the business request. */
export function isBusiness(phase: Phase): boolean {
  return phase === 'dispatch' || phase === 'plain'
}

/** Returns the failure code of a body; undefined for a code that the protocol does not define. */
export function secureCodeOf(body: string): SecureCode | undefined {
  const code = asMembers(parseJson(body))?.code
  return secureCodes.find((it) => it === code)
}
