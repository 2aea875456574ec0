import { isAscii, isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { escapePointer, type ValidationIssue } from '../../contract/envelope.js'
import { type Refusal, refuse } from '../../contract/errors.js'
import { isMediaType } from '../../secure/suite.js'
import { closest } from '../../values/closest.js'
import { depthExceeds, mapTexts } from '../../values/json.js'
import type { ApiCall } from './api-call.js'

/** Limits of a body (rules/calls.md#bodies). */
const BODY_BYTES_MAX = 65_536
const DEPTH_MAX = 16
const JSON_TYPE = 'application/json'

type ParsedBody = { readonly ok: true; readonly value: unknown } | Refusal<'INVALID_JSON' | 'VALIDATION_FAILED'>

/** Bytes of a body. `too_large`: over the limit. `broken`: the client disconnected before the end of the body. */
type BodyBytes = Buffer | 'too_large' | 'broken'

type JsonBody = ParsedBody | Refusal<'UNSUPPORTED_MEDIA_TYPE' | 'PAYLOAD_TOO_LARGE'>

/**
 * Reads a body of at most `limit` bytes. Most bodies have arrived completely when this function is called: reads such
 * bodies synchronously, which costs less than the events of a stream.
 */
export function readBytes(message: IncomingMessage, limit: number): BodyBytes | Promise<BodyBytes> {
  if (Number(message.headers['content-length'] ?? 0) > limit) return 'too_large'
  if (message.destroyed) return 'broken'
  if (!message.complete) return collect(message, limit)
  const bytes = (message.read() as Buffer | null) ?? Buffer.alloc(0)
  return bytes.length > limit ? 'too_large' : bytes
}

function collect(message: IncomingMessage, limit: number): Promise<BodyBytes> {
  return new Promise((resolve) => {
    const pieces: Buffer[] = []
    let length = 0
    message.on('data', (piece: Buffer) => {
      length += piece.length
      if (length > limit) resolve('too_large')
      else pieces.push(piece)
    })
    message.once('end', () => resolve(Buffer.concat(pieces)))
    message.once('error', () => resolve('broken'))
  })
}

/** Reads a JSON body: checks type, size and form (rules/calls.md#bodies). Undefined for a missing or empty body. */
export function readJson(exchange: ApiCall, bytesMax = BODY_BYTES_MAX): JsonBody | Promise<JsonBody> {
  const { headers, inner, method, carrier } = exchange
  if (method === 'GET' || method === 'HEAD') return { ok: true, value: undefined }
  const isJson = isMediaType(headers['content-type'], JSON_TYPE)
  if (inner !== null) {
    if (inner.body === undefined) return { ok: true, value: undefined }
    return isJson ? checkInnerBody(inner.body, inner.text, inner.textBytes) : refuse('UNSUPPORTED_MEDIA_TYPE')
  }
  // An empty body needs no JSON type (`curl -d ''` sends a form type); refuse any other body at its first byte.
  const bytes = readBytes(carrier.request, isJson ? bytesMax : 0)
  return bytes instanceof Promise ? bytes.then((it) => parse(exchange, it, isJson)) : parse(exchange, bytes, isJson)
}

function parse(exchange: ApiCall, bytes: BodyBytes, isJson: boolean): JsonBody {
  if (bytes === 'broken') return refuse('INVALID_JSON')
  if (bytes === 'too_large') return refuse(isJson ? 'PAYLOAD_TOO_LARGE' : 'UNSUPPORTED_MEDIA_TYPE')
  exchange.receivedBody = bytes
  return parseBody(bytes)
}

/** Refuses a body with a content encoding or a charset other than UTF-8, of which `utf8` is a common name. */
export function refuseEncoding({ inner, method, headers }: ApiCall): Refusal<'UNSUPPORTED_MEDIA_TYPE'> | null {
  const empty =
    inner === null
      ? headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0'
      : inner.body === undefined
  if (empty || method === 'GET' || method === 'HEAD') return null
  const encoding = headers['content-encoding'] ?? ''
  if (!/^(identity)?$/i.test(encoding)) return unsupported('content encoding', encoding, 'without one')
  const type = headers['content-type']
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(type ?? '')?.[1] ?? ''
  if (/^(utf-?8)?$/i.test(charset)) return null
  if (!isMediaType(type, JSON_TYPE)) return refuse('UNSUPPORTED_MEDIA_TYPE')
  return unsupported('charset', charset, 'in UTF-8')
}

/** Quotes only short names, because a header may have any text. */
function unsupported(what: string, name: string, instead: string): Refusal<'UNSUPPORTED_MEDIA_TYPE'> {
  const named = /^[\w.:+, -]{1,24}$/.test(name) ? `the ${what} ${name}` : `an unsupported ${what}`
  return { ...refuse('UNSUPPORTED_MEDIA_TYPE'), message: `The body has ${named}. Send it ${instead}.` }
}

/**
 * Parses a JSON body: strict UTF-8, at most 16 levels, no `__proto__` member. Converts strings to NFC. Undefined for an
 * empty body.
 */
export function parseBody(bytes: Buffer): ParsedBody {
  if (bytes.length === 0) return { ok: true, value: undefined }
  const ascii = isAscii(bytes)
  if (!ascii && !isUtf8(bytes)) return refuse('INVALID_JSON', { reason: 'the body is not UTF-8' })
  const text = bytes.toString(ascii ? 'latin1' : 'utf8')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return refuse('INVALID_JSON')
  }
  return checkValue(value, text, ascii)
}

/**
 * Applies the rules of parseBody to the body of a decrypted request, which is already parsed.
 * @param text the plaintext that contained the body
 * @param bytes length of that text in UTF-8
 */
function checkInnerBody(value: unknown, text: string, bytes: number): ParsedBody | Refusal<'PAYLOAD_TOO_LARGE'> {
  const mayBeTooLarge = bytes > BODY_BYTES_MAX
  if (mayBeTooLarge && Buffer.byteLength(JSON.stringify(value)) > BODY_BYTES_MAX) return refuse('PAYLOAD_TOO_LARGE')
  // Equal lengths mean ASCII text: every other character has more UTF-8 bytes than UTF-16 units.
  return checkValue(value, text, bytes === text.length)
}

/** @param text contains the JSON of `value`; checks of the text save most bodies a walk through `value` */
function checkValue(value: unknown, text: string, ascii: boolean): ParsedBody {
  if (depthExceeds(value, DEPTH_MAX))
    return refuse('INVALID_JSON', { reason: `nested deeper than ${DEPTH_MAX} levels` })
  return ascii && !text.includes('\\u') && !text.includes('__proto__') ? { ok: true, value } : normalise(value)
}

function normalise(value: unknown): ParsedBody {
  const problem = problemOf(value, '')
  return problem === null
    ? { ok: true, value: mapTexts(value, toNfc) }
    : refuse('VALIDATION_FAILED', { errors: [problem] })
}

/** More combining marks in a row than any script uses (UAX 15, Stream-Safe): NFC sorts them in quadratic time. */
const MARKS = /\p{M}{31}/u

/**
 * Finds values that must not be normalised: too many combining marks, the name __proto__, and names that become equal
 * in NFC.
 */
function problemOf(value: unknown, pointer: string): ValidationIssue | null {
  if (typeof value === 'string') return MARKS.test(value) ? tooManyMarks(pointer) : null
  if (typeof value !== 'object' || value === null) return null
  const seen = new Set<string>()
  for (const [name, member] of Object.entries(value)) {
    const here = `${pointer}/${escapePointer(name)}`
    if (name === '__proto__')
      return { pointer: here, code: 'additionalProperties', message: 'must not be named __proto__' }
    if (MARKS.test(name)) return tooManyMarks(pointer)
    if (seen.has(toNfc(name))) return { pointer: here, code: 'unique', message: 'has the name of another member' }
    seen.add(toNfc(name))
    const problem = problemOf(member, here)
    if (problem !== null) return problem
  }
  return null
}

function tooManyMarks(pointer: string): ValidationIssue {
  return { pointer, code: 'format', message: 'must not have more than 30 combining marks in a row' }
}

/** Normalises to NFC, except three characters that would become ASCII (such as the Kelvin sign): ids refuse them. */
function toNfc(text: string): string {
  const normalised = text.normalize('NFC')
  return normalised !== text && /^[\0-\x7f]*$/.test(normalised) ? text : normalised
}

/** Maximum of validation issues in a response; the client sees further issues after correcting these. */
export const ISSUES_MAX = 20

/** Returns the validation issue for an unknown member (rules/calls.md#unknown-members). */
export function unknownMember(at: string, name: string, known: readonly string[]): ValidationIssue {
  const issue = {
    pointer: `${at}/${escapePointer(name)}`,
    code: 'additionalProperties',
    message: 'is not known here',
  }
  const close = closest(name, known)
  return close === undefined ? issue : { ...issue, suggestion: `did you mean ${close}?` }
}
