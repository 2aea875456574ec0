import { isUtf8 } from 'node:buffer'
import { asBuffer } from './base64url.js'

/** Maximum nesting of objects and arrays (rules/encryption.md#envelopes). */
const MAX_DEPTH = 64

/** Decodes UTF-8; undefined for invalid bytes. Keeps a byte order mark, which parseJson then rejects. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  return isUtf8(bytes) ? asBuffer(bytes).toString('utf8') : undefined
}

/** Parses JSON; undefined when it is malformed or nested deeper than `levels`. */
export function parseJson(text: string, levels = MAX_DEPTH): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return depthExceeds(value, levels) ? undefined : value
  } catch {
    return undefined
  }
}

export type Members = Readonly<Record<string, unknown>>

/** Returns the value if it is a JSON object; otherwise undefined. */
export function asMembers(value: unknown): Members | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : undefined
}

/** Parses a JSON object of any depth; undefined for any other text. */
export function parseObject(text: string): Members | undefined {
  return asMembers(parseJson(text, Number.POSITIVE_INFINITY))
}

/** True when objects and arrays are nested deeper than `levels`. */
export function depthExceeds(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  for (const name in value) if (depthExceeds((value as Members)[name], levels - 1)) return true
  return false
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

/** Copies an object without the members whose value is undefined. */
export function defined<T extends object>(members: T): Defined<T> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Defined<T>
}

/** Applies a function to every text in a JSON value, including the names of members. */
export function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return value.map((it) => mapTexts(it, change))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, it]) => [change(name), mapTexts(it, change)]))
}
