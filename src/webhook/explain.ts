import { createHmac } from 'node:crypto'
import { type MismatchCause, mismatchCauses } from './mismatch-causes.js'
import { bodyOriginals, secretOriginals } from './originals.js'
import { bytesOf, keysOf, readHeaders, type VerifyWebhookInput, verifyWebhook } from './signature.js'

export interface MismatchExplanation {
  readonly cause: MismatchCause
  /** What was found, in a sentence. Holds nothing of a secret or a body. */
  readonly explanation: string
  /** What to do about it. */
  readonly fix: string
}

/**
 * Why a delivery is refused: tries the known mistakes until one makes the signature fit, so that a cause of the
 * signature is proved and not guessed (only body_empty, body_object_text and body_invalid_utf8_replaced are guesses:
 * there the signed bytes are gone).
 * A delivery that the first secret verifies gives null, and so does a signature that no known mistake explains.
 * One that only a later secret verifies gives `old_secret`.
 *
 * Made for the person who looks for the mistake: it takes its time, and what it says is no answer for a sender.
 * @param input What verifyWebhook takes. `secrets`: the one in use first, then any other that might have signed.
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

/** Nothing is wrong with the signature. */
const FITS = 'fits'

/** Unix milliseconds from 2001 to 2286. */
const MILLISECONDS = /^\d{13}$/

interface Delivery {
  readonly signature: string
  readonly timestamp: string
  readonly updateId: string
  readonly body: Uint8Array
  readonly keys: readonly Uint8Array[]
}

/** The first known mistake that makes the signature fit; undefined when none does. */
function causeOf({ signature, timestamp, updateId, body, keys }: Delivery): MismatchCause | typeof FITS | undefined {
  const macs = new Map(signature.split(',').flatMap((part) => spellingOf(part.trim())))
  const signs = (key: string | Uint8Array, ...signed: readonly (string | Uint8Array)[]) => {
    const hmac = createHmac('sha256', key)
    for (const piece of signed) hmac.update(piece)
    return macs.get(hmac.digest('hex'))
  }
  for (const key of keys) {
    const spelling = signs(key, timestamp, '.', body)
    if (spelling !== undefined) return spelling
  }
  for (const key of keys) {
    if (signs(key, timestamp, body)) return 'missing_dot'
    if (signs(key, body)) return 'body_only'
    if (signs(key, `${timestamp}000.`, body)) return 'timestamp_milliseconds'
    if (MILLISECONDS.test(timestamp) && signs(key, `${timestamp.slice(0, -3)}.`, body)) return 'timestamp_milliseconds'
    for (const [cause, original] of secretOriginals(key)) {
      // An empty key has a cause of its own.
      if (original.length > 0 && signs(original, timestamp, '.', body)) return cause
    }
  }
  if (signs(new Uint8Array(), timestamp, '.', body)) return 'empty_secret'
  for (const [cause, original] of bodyOriginals(body, updateId)) {
    for (const key of keys) if (signs(key, timestamp, '.', original)) return cause
  }
  return undefined
}

/** A signature as lower-case hex, with what is wrong with how it was written. None for what is no signature. */
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

/** What no signature can prove, since the bytes that were signed are gone. */
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
