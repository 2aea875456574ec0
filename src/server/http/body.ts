import { isAscii, isUtf8 } from 'node:buffer'
import { escapePointer, type ValidationIssue } from '../../contract/envelope.js'
import { type Refusal, refuse } from '../../contract/errors.js'
import { depthExceeds } from '../../secure/json.js'

/** Limits of a body (DECISIONS.md#bodies). */
export const BODY_BYTES_MAX = 65_536
const DEPTH_MAX = 16

export type ParsedBody = { readonly ok: true; readonly value: unknown } | Refusal<'INVALID_JSON' | 'VALIDATION_FAILED'>

/**
 * Parses a JSON body: strict UTF-8, at most 16 levels, no `__proto__` member, strings in NFC.
 * An empty body is undefined.
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
 * Checks a body that came parsed out of an envelope as parseBody checks others.
 * @param text what it was a part of
 * @param bytes of that text in UTF-8
 */
export function checkInnerBody(value: unknown, text: string, bytes: number): ParsedBody | Refusal<'PAYLOAD_TOO_LARGE'> {
  const mayBeTooLarge = bytes > BODY_BYTES_MAX
  if (mayBeTooLarge && Buffer.byteLength(JSON.stringify(value)) > BODY_BYTES_MAX) return refuse('PAYLOAD_TOO_LARGE')
  // Every other character takes more bytes than it has units of UTF-16.
  return checkValue(value, text, bytes === text.length)
}

/** @param text holds the JSON of the value: what is not in it is not in the value */
function checkValue(value: unknown, text: string, ascii: boolean): ParsedBody {
  if (depthExceeds(value, DEPTH_MAX))
    return refuse('INVALID_JSON', { reason: `nested deeper than ${DEPTH_MAX} levels` })
  if (ascii && !text.includes('\\u') && !text.includes('__proto__')) return { ok: true, value }
  const problem = problemOf(value, '')
  return problem === null ? { ok: true, value: normalise(value) } : refuse('VALIDATION_FAILED', { errors: [problem] })
}

/** More marks on one letter than any script has (UAX 15, Stream-Safe): ordering them takes the square of their number. */
const MARKS = /\p{M}{31}/u

/**
 * What must not be normalised: endless marks, and names that would be lost on the way: the prototype's, and one that
 * equals another once it is normalised.
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

function normalise(value: unknown): unknown {
  if (typeof value === 'string') return toNfc(value)
  if (Array.isArray(value)) return value.map(normalise)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [toNfc(name), normalise(member)]))
}

/** Three characters (the Kelvin sign among them) become ASCII in NFC: an id that holds one is refused, not changed. */
function toNfc(text: string): string {
  const normalised = text.normalize('NFC')
  return normalised !== text && /^[\0-\x7f]*$/.test(normalised) ? text : normalised
}
