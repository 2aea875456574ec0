import { isUtf8 } from 'node:buffer'
import { asBuffer } from './base64url.js'

/** Levels of objects and arrays (DECISIONS.md#envelopes). */
const MAX_DEPTH = 64

/** The text of bytes, or undefined when they are not UTF-8. A byte order mark stays and is no JSON. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  return isUtf8(bytes) ? asBuffer(bytes).toString('utf8') : undefined
}

/** The value of a JSON text, or undefined when it is none or nested deeper than so many levels. */
export function parseJson(text: string, levels = MAX_DEPTH): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return opensMore(text, levels) && depthExceeds(value, levels) ? undefined : value
  } catch {
    return undefined
  }
}

export type Members = Readonly<Record<string, unknown>>

/** Undefined for anything but a JSON object. */
export function asMembers(value: unknown): Members | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : undefined
}

/** What opens no more objects and arrays than so many is no deeper: most texts need no walk through their value. */
function opensMore(text: string, levels: number): boolean {
  let opened = 0
  for (const bracket of ['{', '[']) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      opened += 1
      if (opened > levels) return true
    }
  }
  return false
}

/** True for objects and arrays nested deeper than so many levels. */
export function depthExceeds(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  for (const name in value) if (depthExceeds((value as Members)[name], levels - 1)) return true
  return false
}
