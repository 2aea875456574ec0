import type { MismatchCause } from './mismatch-causes.js'

type Original = readonly [MismatchCause, Uint8Array]

const SECRET_PREFIX = 'whsec_'

/** Keys that may have signed, if the secret here was altered in a known way, or the one that signed was. */
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

  // The other way round: the side that signed decoded what is text here.
  yield ['secret_base64_decoded', Buffer.from(text, 'base64')]
  if (text.startsWith(SECRET_PREFIX))
    yield ['secret_base64_decoded', Buffer.from(text.slice(SECRET_PREFIX.length), 'base64')]
  yield ['secret_hex_decoded', Buffer.from(text, 'hex')]
}

/** Bodies that may have been signed, if the one that arrived was altered in a known way. Made one at a time. */
export function* bodyOriginals(body: Uint8Array, updateId: string): Generator<Original> {
  // One character a byte, so that an edit leaves all other bytes as they are.
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
    // A parser of doubles rounds ids above 2^53 - 1; the header still has all digits.
    const exact = written.replace(/("update_id":\s*)\d+/, (_, name) => name + updateId)
    if (exact !== written) yield ['body_reserialised', Buffer.from(exact)]
  }
}

/** An update is far shallower; indented, a deep body would take memory by the square of its size. */
const MAX_DEPTH = 64

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((it) => isDeeper(it, levels - 1))
}

/** Not by a regular expression: those take the square of the time for many line ends in the middle. */
function withoutLineEnds(bytes: string): string {
  let end = bytes.length
  while (bytes[end - 1] === '\n' || bytes[end - 1] === '\r') end--
  return bytes.slice(0, end)
}

/** The same JSON as common serialisers write it, the platform's own way (compact) first. */
function* serialisations(value: object): Generator<string> {
  const lines = JSON.stringify(value, null, 1)
  // No string holds a real line break, so every one is layout. Python's json.dumps puts a space where it was.
  const spaced = lines
    .replace(/([[{])\n */g, '$1')
    .replace(/\n *([\]}])/g, '$1')
    .replace(/\n */g, ' ')
  const layouts = [JSON.stringify(value), spaced, ...[2, 4, '\t'].map((indent) => JSON.stringify(value, null, indent))]
  for (const layout of layouts) {
    const ascii = escape(layout, /[\u0080-\uffff]/g)
    yield layout
    // Python
    yield ascii
    // PHP, with and without JSON_UNESCAPED_UNICODE
    yield ascii.replaceAll('/', '\\/')
    yield layout.replaceAll('/', '\\/')
    // Go
    yield escape(layout, /[<>&\u2028\u2029]/g)
  }
}

function escape(json: string, units: RegExp): string {
  return json.replace(units, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** What Windows-1252 has at 0x80 to 0x9f (WHATWG Encoding, index windows-1252); below and above it is Latin-1. */
const WINDOWS_1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'

/** The bytes that give this text when they are read as Latin-1 or Windows-1252; undefined when none do. */
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
