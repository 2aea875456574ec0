import { isAscii, isUtf8 } from 'node:buffer'
import { escapePointer, type ValidationIssue } from '../../contract/envelope.js'
import { type Refusal, refuse } from '../../contract/errors.js'
import { mapTexts } from '../../contract/values/map-texts.js'
import { depthExceeds } from '../../values/json.js'

/** Limits of a body (DECISIONS.md#bodies). */
export const BODY_BYTES_MAX = 65_536
const DEPTH_MAX = 16

export type ParsedBody = { readonly ok: true; readonly value: unknown } | Refusal<'INVALID_JSON' | 'VALIDATION_FAILED'>

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
export function checkInnerBody(value: unknown, text: string, bytes: number): ParsedBody | Refusal<'PAYLOAD_TOO_LARGE'> {
  const mayBeTooLarge = bytes > BODY_BYTES_MAX
  if (mayBeTooLarge && Buffer.byteLength(JSON.stringify(value)) > BODY_BYTES_MAX) return refuse('PAYLOAD_TOO_LARGE')
  // Equal lengths mean ASCII text: every other character has more UTF-8 bytes than UTF-16 units.
  return checkValue(value, text, bytes === text.length)
}

/** @param text contains the JSON of `value`; checks of the text save most bodies a walk through `value` */
function checkValue(value: unknown, text: string, ascii: boolean): ParsedBody {
  if (depthExceeds(value, DEPTH_MAX))
    return refuse('INVALID_JSON', { reason: `nested deeper than ${DEPTH_MAX} levels` })
  if (ascii && !text.includes('\\u') && !text.includes('__proto__')) return { ok: true, value }
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
