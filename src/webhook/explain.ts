import { createHmac } from 'node:crypto'
import { type MismatchCause, mismatchCauses } from './mismatch-causes.js'
import { bytesOf, keysOf, readHeaders, type VerifyWebhookInput, valuesByName, verifyWebhook } from './signature.js'

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
 * and `old_secret` if only a later secret verifies the delivery. Beyond 64 KiB it tries only spellings of the signature;
 * `body_too_long` says so.
 *
 * Use it for debugging only: it is slow, and its result must not be sent to the sender of the delivery.
 * @param input As for verifyWebhook. `secrets`: the current secret first, then others that may have signed.
 * @throws TypeError and RangeError as verifyWebhook does.
 */
export function explainMismatch(input: VerifyWebhookInput): MismatchExplanation | null {
  const verdict = verifyWebhook(input)
  if (verdict.ok) return verdict.secretIndex === 0 ? null : explain('old_secret', signedBy(verdict.secretIndex))

  const { reason, message } = verdict
  const planted = rightRefusal(valuesByName(input.headers).get('x-platform-fault')?.[0])
  if (planted !== undefined) return explain('planted_fault', planted)
  const body = bytesOf(input.rawBody)
  const headers = readHeaders(input.headers)
  if (headers.ok && reason !== 'malformed_timestamp') {
    const cause = causeOf({ ...headers, body, keys: keysOf(input.secrets) })
    if (cause !== undefined && cause !== FITS) return explain(cause)
    if (reason === 'future' && MILLISECONDS.test(headers.timestamp)) return explain('timestamp_milliseconds')
  }
  if (reason !== 'bad_signature') return explain(reason, message)
  return guess(body) ?? (body.length > BODY_BYTES_MAX ? explain('body_too_long') : null)
}

/** Says that a receiver is right to refuse a delivery with this planted fault; undefined for others. */
export const rightRefusal = (fault: string | undefined): string | undefined =>
  fault === 'forged' || fault === 'stale' ? `A planted fault (${fault}): the refusal is right.` : undefined

/** Anybody can send an unsigned body, and a longer one would take seconds. */
const BODY_BYTES_MAX = 64 * 1024

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

/** Returns the spelling of the received signature if it was made from these pieces; undefined otherwise. */
type Signs = (
  key: string | Uint8Array,
  ...signed: readonly (string | Uint8Array)[]
) => MismatchCause | typeof FITS | undefined

/** Finds the first known mistake that makes the signature match; undefined if none matches. */
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
  if (body.length > BODY_BYTES_MAX) return undefined
  for (const key of keys) {
    const cause = mistakeWith(key, data, signs)
    if (cause !== undefined) return cause
  }
  if (signs('', timestamp, '.', body)) return 'empty_secret'
  for (const [cause, original] of bodyOriginals(body, updateId)) {
    for (const key of keys) if (signs(key, timestamp, '.', original)) return cause
  }
  return undefined
}

/** Finds the mistake of a sender with this key, apart from mistakes in the body. */
function mistakeWith(key: Uint8Array, { timestamp, body }: SignedData, signs: Signs): MismatchCause | undefined {
  if (signs(key, timestamp, body)) return 'missing_dot'
  if (signs(key, body)) return 'body_only'
  if (signs(key, `${timestamp}000.`, body)) return 'timestamp_milliseconds'
  if (MILLISECONDS.test(timestamp) && signs(key, `${timestamp.slice(0, -3)}.`, body)) return 'timestamp_milliseconds'
  for (const [cause, original] of secretOriginals(key)) {
    // Skip an empty key, which has its own cause, `empty_secret`, checked later.
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

type Original = readonly [MismatchCause, Uint8Array]

const SECRET_PREFIX = 'whsec_'

/** Keys that the signer may have used if signer or receiver altered the secret by a known mistake. */
function* secretOriginals(secret: Uint8Array): Generator<readonly [MismatchCause, string | Uint8Array]> {
  const bytes = Buffer.from(secret)
  const text = bytes.toString('utf8')
  yield ['secret_trailing_newline', text.replace(/\r?\n$/, '')]
  yield ['secret_trailing_newline', text.trim()]
  yield ['secret_trimmed', `${text}\n`]
  yield ['secret_trimmed', `${text}\r\n`]
  yield ['secret_quoted', text.trim().replace(/^(["'])(.*)\1$/, '$2')]
  yield ['secret_prefix', SECRET_PREFIX + text]
  if (text.startsWith(SECRET_PREFIX)) yield ['secret_prefix', text.slice(SECRET_PREFIX.length)]

  const encoded = [bytes.toString('base64'), bytes.toString('base64url')]
  for (const written of [...encoded, ...encoded.map((it) => it.replace(/=+$/, ''))]) {
    yield ['secret_base64_decoded', written]
    yield ['secret_base64_decoded', SECRET_PREFIX + written]
  }
  yield ['secret_hex_decoded', bytes.toString('hex')]
  yield ['secret_hex_decoded', bytes.toString('hex').toUpperCase()]

  // Here the signer decoded the secret to bytes, and the receiver uses it as text.
  yield ['secret_base64_decoded', Buffer.from(text, 'base64')]
  if (text.startsWith(SECRET_PREFIX))
    yield ['secret_base64_decoded', Buffer.from(text.slice(SECRET_PREFIX.length), 'base64')]
  yield ['secret_hex_decoded', Buffer.from(text, 'hex')]
}

/** Bodies that the signer may have signed if a known mistake altered the body, one at a time to save memory. */
function* bodyOriginals(body: Uint8Array, updateId: string): Generator<Original> {
  // Latin-1 maps each byte to one character, so that a text edit leaves all other bytes unchanged.
  const bytes = Buffer.from(body).toString('latin1')
  const edited = (cause: MismatchCause, text: string): Original => [cause, Buffer.from(text, 'latin1')]

  yield edited('body_trailing_newline_added', bytes.replace(/\r?\n$/, ''))
  yield edited('body_trailing_newline_added', withoutLineEnds(bytes))
  yield edited('body_trailing_newline_removed', `${bytes}\n`)
  yield edited('body_trailing_newline_removed', `${bytes}\r\n`)
  yield edited('body_line_endings', bytes.replaceAll('\r\n', '\n'))
  yield edited('body_line_endings', bytes.replace(/\r?\n/g, '\r\n'))
  const mark = '\xef\xbb\xbf'
  if (bytes.startsWith(mark)) yield edited('body_bom_added', bytes.slice(mark.length))
  yield edited('body_bom_removed', mark + bytes)

  const text = Buffer.from(body).toString('utf8')
  const singleByte = toSingleBytes(text)
  if (singleByte !== undefined) yield ['body_latin1', singleByte]
  yield ['body_latin1', Buffer.from(bytes, 'utf8')]
  if (/^[A-Za-z0-9+/_-]+={0,2}\s*$/.test(bytes)) yield ['body_base64', Buffer.from(bytes, 'base64')]
  yield* jsonOriginals(text, updateId)
}

function* jsonOriginals(text: string, updateId: string): Generator<Original> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return
  }
  if (typeof value === 'string') yield ['body_stringified_twice', Buffer.from(value)]
  if (typeof value !== 'object' || value === null || isDeeper(value, MAX_DEPTH)) return
  if ('type' in value && value.type === 'Buffer' && 'data' in value && Array.isArray(value.data)) {
    yield ['body_stringified_twice', Buffer.from(value.data)]
  }
  for (const written of serialisations(value)) {
    yield ['body_reserialised', Buffer.from(written)]
    yield ['body_reserialised', Buffer.from(`${written}\n`)]
    // JSON parsers round ids above 2^53 - 1; the update id header still has all digits.
    const exact = written.replace(/("update_id":\s*)\d+/, (_, name) => name + updateId)
    if (exact !== written) yield ['body_reserialised', Buffer.from(exact)]
  }
}

/** Maximum nesting depth. Updates are shallower, and indenting a deeper body takes up to 4 bytes per level and value. */
const MAX_DEPTH = 16

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((it) => isDeeper(it, levels - 1))
}

/** Removes all final line ends. A regular expression would take quadratic time for line ends in the middle. */
function withoutLineEnds(bytes: string): string {
  let end = bytes.length
  while (bytes[end - 1] === '\n' || bytes[end - 1] === '\r') end--
  return bytes.slice(0, end)
}

/** Serialises a value like common JSON libraries, starting with the compact form that the platform sends. */
export function* serialisations(value: object): Generator<string> {
  const lines = JSON.stringify(value, null, 1)
  // JSON strings contain no raw line breaks, so every line break is layout. Python's json.dumps writes a space there.
  const spaced = lines
    .replace(/([[{])\n */g, '$1')
    .replace(/\n *([\]}])/g, '$1')
    .replace(/\n */g, ' ')
  const compact = JSON.stringify(value)
  const layouts = [compact, spaced, ...[2, 4, '\t'].map((indent) => JSON.stringify(value, null, indent))]
  for (const layout of layouts) {
    // Lists of short values in deep objects, which no update has, grow by a factor of 30.
    if (layout.length > 4 * compact.length + 4096) continue
    const ascii = escape(layout, /[\u0080-\uffff]/g)
    yield layout
    // Python escapes all non-ASCII characters.
    yield ascii
    // PHP escapes slashes, and non-ASCII characters without JSON_UNESCAPED_UNICODE.
    yield ascii.replaceAll('/', '\\/')
    yield layout.replaceAll('/', '\\/')
    // Go escapes characters that are special in HTML or JavaScript.
    yield escape(layout, /[<>&\u2028\u2029]/g)
  }
}

function escape(json: string, units: RegExp): string {
  return json.replace(units, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Windows-1252 from 0x80 to 0x9f (WHATWG Encoding, index windows-1252); all other bytes are as in Latin-1. */
const WINDOWS_1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'

/** Encodes a text as Latin-1 or Windows-1252; undefined if it has other characters. */
function toSingleBytes(text: string): Uint8Array | undefined {
  const bytes = Buffer.alloc(text.length)
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    const special = unit < 0x100 ? -1 : WINDOWS_1252.indexOf(text.charAt(i))
    if (unit >= 0x100 && special === -1) return undefined
    bytes[i] = special === -1 ? unit : 0x80 + special
  }
  return bytes
}
