import type { MismatchCause } from './mismatch-causes.js'

type Original = readonly [MismatchCause, Uint8Array]

const SECRET_PREFIX = 'whsec_'

/** Keys that the signer may have used if signer or receiver altered the secret by a known mistake. */
export function* secretOriginals(secret: Uint8Array): Generator<readonly [MismatchCause, string | Uint8Array]> {
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
export function* bodyOriginals(body: Uint8Array, updateId: string): Generator<Original> {
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

/** Maximum nesting depth. Updates are far shallower, and indenting a deeper body takes quadratic memory. */
const MAX_DEPTH = 64

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
function* serialisations(value: object): Generator<string> {
  const lines = JSON.stringify(value, null, 1)
  // JSON strings contain no raw line breaks, so every line break is layout. Python's json.dumps writes a space there.
  const spaced = lines
    .replace(/([[{])\n */g, '$1')
    .replace(/\n *([\]}])/g, '$1')
    .replace(/\n */g, ' ')
  const layouts = [JSON.stringify(value), spaced, ...[2, 4, '\t'].map((indent) => JSON.stringify(value, null, indent))]
  for (const layout of layouts) {
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
