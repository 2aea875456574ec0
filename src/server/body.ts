import { isAscii, isUtf8 } from 'node:buffer'
import { type Refusal, refuse } from '../contract/errors.js'

/** decisions.md 1, bodies. */
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
  if (depthExceeds(value, DEPTH_MAX)) return refuse('INVALID_JSON', { reason: `nested deeper than ${DEPTH_MAX} levels` })
  if (text.includes('__proto__') || text.includes('\\u')) {
    const pointer = findProto(value, '')
    if (pointer !== null) {
      return refuse('VALIDATION_FAILED', {
        errors: [{ pointer, code: 'additionalProperties', message: 'must not be named __proto__' }],
      })
    }
  }
  return { ok: true, value: ascii && !text.includes('\\u') ? value : normalise(value) }
}

function depthExceeds(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  if (Array.isArray(value)) return value.some((item) => depthExceeds(item, levels - 1))
  for (const name in value) if (depthExceeds((value as Record<string, unknown>)[name], levels - 1)) return true
  return false
}

function findProto(value: unknown, pointer: string): string | null {
  if (typeof value !== 'object' || value === null) return null
  for (const [name, member] of Object.entries(value)) {
    if (name === '__proto__') return `${pointer}/__proto__`
    const found = findProto(member, `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`)
    if (found !== null) return found
  }
  return null
}

function normalise(value: unknown): unknown {
  if (typeof value === 'string') return value.normalize('NFC')
  if (Array.isArray(value)) return value.map(normalise)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name.normalize('NFC'), normalise(member)]))
}
