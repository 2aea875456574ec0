import type { HttpRequest, HttpResponse, Send } from './http.js'
import type { InnerPart } from './inner-request.js'
import { asMembers, type Members, parseJson } from './json.js'
import { type SecureCode, secureCodes } from './suite.js'

/** What a client finds by itself, beside the codes that a server answers. */
export type ClientCode =
  /** The bootstrap answer cannot be used. */
  | 'SECURE_BOOTSTRAP_INVALID'
  /** The session answer cannot be used. */
  | 'SECURE_SESSION_INVALID'
  /** The server's key is none of the pinned ones. */
  | 'SECURE_PIN_MISMATCH'
  /** The answer of a dispatch cannot be verified: it is not shown to anyone. */
  | 'SECURE_ANSWER_INVALID'
  /** An endpoint answered neither a success nor a code of this protocol; see `answer`. */
  | 'SECURE_ANSWER_REFUSED'
  /** No answer; see `cause`. */
  | 'SECURE_NO_ANSWER'
  | 'SECURE_TIMEOUT'
  | 'SECURE_ABORTED'

export type SecureFailureCode = SecureCode | ClientCode

/** How far a call had come. `local`: the request was not sent. `plain`: sent without encryption, where the mode allows it. */
export type Phase = 'local' | 'bootstrap' | 'session' | 'dispatch' | 'plain'

export interface SecureFailure {
  readonly ok: false
  readonly code: SecureFailureCode
  readonly message: string
  readonly phase: Phase
  /** True when the business request may have been processed all the same. */
  readonly maybeProcessed: boolean
  /** Of SECURE_REQUEST_INVALID found locally: the part of the request that cannot travel. */
  readonly part?: InnerPart
  /** The outer answer, where one led to this. It is not authenticated: never take it for a business answer. */
  readonly answer?: HttpResponse
  /** What the transport threw. */
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
  SECURE_ANSWER_INVALID: 'The answer is not the one of this request, or was changed on its way.',
  SECURE_ANSWER_REFUSED: 'The server did not take part in the encrypted transport.',
  SECURE_NO_ANSWER: 'No complete answer arrived.',
  SECURE_TIMEOUT: 'No complete answer arrived in time.',
  SECURE_ABORTED: 'The call was aborted.',
}

export function fail(
  code: SecureFailureCode,
  phase: Phase,
  more: Partial<Pick<SecureFailure, 'maybeProcessed' | 'part' | 'answer' | 'cause'>> = {},
): SecureFailure {
  return { ok: false, code, message: messages[code], phase, maybeProcessed: false, ...more }
}

/**
 * The failure that stands for an outer answer that is no success. Codes of the protocol come before the business
 * endpoint, all but one: a replay was processed before.
 */
export function failOuter(answer: HttpResponse, phase: Phase): SecureFailure {
  const { status } = answer
  const code = status >= 400 ? secureCodeOf(answer.body) : undefined
  const declined = code === undefined ? (status >= 300 && status < 500) || status === 503 : code !== 'REQUEST_REPLAYED'
  return fail(code ?? 'SECURE_ANSWER_REFUSED', phase, { answer, maybeProcessed: phase === 'dispatch' && !declined })
}

/** Sends one request; what the transport throws becomes a value. */
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

/** True for the phases in which the business request is on its way. */
export function isBusiness(phase: Phase): boolean {
  return phase === 'dispatch' || phase === 'plain'
}

/** The code of a failure body, when it is one of this protocol. */
export function secureCodeOf(body: string): SecureCode | undefined {
  const code = asMembers(parseJson(body))?.code
  return secureCodes.find((it) => it === code)
}
