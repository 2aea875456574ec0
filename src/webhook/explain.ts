import { createHmac } from 'node:crypto'
import { type MismatchCause, mismatchCauses } from './mismatch-causes.js'
import { bytesOf, keysOf, readHeaders, type VerifyWebhookInput, verifyWebhook } from './signature.js'
import { bodyOriginals, secretOriginals } from './undo-mistakes.js'

export interface MismatchExplanation {
  readonly cause: MismatchCause
  /** Describes the mistake in a sentence that contains no part of a secret or body. */
  readonly explanation: string
  /** Describes in a sentence how to fix the mistake. */
  readonly fix: string
}

/**
 * Explains why verifyWebhook refuses a delivery. It tries known mistakes until one makes the signature match, which
 * proves the cause; only body_empty, body_object_text and body_invalid_utf8_replaced are guesses, because the signed
 * bytes are lost. Returns null if the first secret verifies the delivery or no known mistake explains the signature,
 * and `old_secret` if only a later secret verifies the delivery.
 *
 * Use it for debugging only: it is slow, and its result must not be sent to the sender of the delivery.
 * @param input As for verifyWebhook. `secrets`: the current secret first, then others that may have signed.
 * @throws TypeError and RangeError as verifyWebhook does.
 */
export function explainMismatch(input: VerifyWebhookInput): MismatchExplanation | null {
  const verdict = verifyWebhook(input)
  if (verdict.ok) return verdict.secretIndex === 0 ? null : explain('old_secret', signedBy(verdict.secretIndex))

  const { reason, message } = verdict
  const body = bytesOf(input.rawBody)
  const headers = readHeaders(input.headers)
  if (headers.ok && reason !== 'malformed_timestamp') {
    const cause = causeOf({ ...headers, body, keys: keysOf(input.secrets) })
    if (cause !== undefined && cause !== FITS) return explain(cause)
    if (reason === 'future' && MILLISECONDS.test(headers.timestamp)) return explain('timestamp_milliseconds')
  }
  return reason === 'bad_signature' ? guess(body) : explain(reason, message)
}

/** Result for a signature that matches without any mistake. */
const FITS = 'fits'

/** Unix milliseconds from 2001 to 2286. */
const MILLISECONDS = /^\d{13}$/

interface SignedData {
  readonly signature: string
  readonly timestamp: string
  readonly updateId: string
  readonly body: Uint8Array
  readonly keys: readonly Uint8Array[]
}

/** Returns how the received signature is spelled if it is that of these pieces; undefined if it is another one. */
type Signs = (
  key: string | Uint8Array,
  ...signed: readonly (string | Uint8Array)[]
) => MismatchCause | typeof FITS | undefined

/** Finds the first known mistake that makes the signature match; undefined if none does. */
function causeOf(data: SignedData): MismatchCause | typeof FITS | undefined {
  const { signature, timestamp, updateId, body, keys } = data
  const macs = new Map(signature.split(',').flatMap((part) => spellingOf(part.trim())))
  const signs: Signs = (key, ...signed) => {
    const hmac = createHmac('sha256', key)
    for (const piece of signed) hmac.update(piece)
    return macs.get(hmac.digest('hex'))
  }
  for (const key of keys) {
    const spelling = signs(key, timestamp, '.', body)
    if (spelling !== undefined) return spelling
  }
  for (const key of keys) {
    const cause = mistakeWith(key, data, signs)
    if (cause !== undefined) return cause
  }
  if (signs(new Uint8Array(), timestamp, '.', body)) return 'empty_secret'
  for (const [cause, original] of bodyOriginals(body, updateId)) {
    for (const key of keys) if (signs(key, timestamp, '.', original)) return cause
  }
  return undefined
}

/** Finds the mistake of a sender that has this key, apart from mistakes in the body. */
function mistakeWith(key: Uint8Array, { timestamp, body }: SignedData, signs: Signs): MismatchCause | undefined {
  if (signs(key, timestamp, body)) return 'missing_dot'
  if (signs(key, body)) return 'body_only'
  if (signs(key, `${timestamp}000.`, body)) return 'timestamp_milliseconds'
  if (MILLISECONDS.test(timestamp) && signs(key, `${timestamp.slice(0, -3)}.`, body)) return 'timestamp_milliseconds'
  for (const [cause, original] of secretOriginals(key)) {
    // An empty key has its own cause, `empty_secret`, which is checked afterwards.
    if (original.length > 0 && signs(original, timestamp, '.', body)) return cause
  }
  return undefined
}

/** Converts a signature to lower-case hex and names its formatting mistake; empty if the text is no signature. */
function spellingOf(part: string): [hex: string, MismatchCause | typeof FITS][] {
  const [, prefix, written = ''] = /^(\w+[=:])?(.+)$/.exec(part) ?? []
  const spelled = (hex: string, cause: MismatchCause | typeof FITS): [string, MismatchCause | typeof FITS][] => [
    [hex, prefix === undefined ? cause : 'signature_prefixed'],
  ]
  if (/^[0-9a-f]{64}$/.test(written)) return spelled(written, FITS)
  if (/^[0-9a-f]{64}$/i.test(written)) return spelled(written.toLowerCase(), 'signature_upper_case')
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(written)) return []
  return spelled(Buffer.from(written, 'base64').toString('hex'), 'signature_base64')
}

/** Guesses the cause from the received body alone, for mistakes that lose the signed bytes. */
function guess(body: Uint8Array): MismatchExplanation | null {
  if (body.length === 0) return explain('body_empty')
  const text = Buffer.from(body)
  if (text.equals(Buffer.from('[object Object]'))) return explain('body_object_text')
  return text.includes('\ufffd') ? explain('body_invalid_utf8_replaced') : null
}

function signedBy(secretIndex: number): string {
  return `Secret ${secretIndex + 1} of those given signed this, not the first one.`
}

function explain(cause: MismatchCause, explanation = mismatchCauses[cause].explanation): MismatchExplanation {
  return { cause, explanation, fix: mismatchCauses[cause].fix }
}
