import type { Failure } from '../../failure.js'
import { fail } from '../../failure.js'

export type HeaderPairs = readonly (readonly [name: string, value: string])[]
type HeadersRead = { readonly ok: true; readonly pairs: HeaderPairs } | Failure

const unreadable = (message: string) =>
  fail('INVALID_INPUT', message, 'It holds a line `Name: value` for each header, or a JSON object of them.')

/** A headers file: `Name: value` lines, also below a request line, or JSON. A name that repeats stays repeated. */
export function headersOf(text: string): HeadersRead {
  return /^\s*[{[]/.test(text) ? fromJson(text) : fromLines(text)
}

function fromLines(text: string): HeadersRead {
  const pairs: [string, string][] = []
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const isStart = index === 0 && (/^[A-Z]+ \S+ HTTP\/[\d.]+$/.test(line) || line.startsWith('HTTP/'))
    if (isStart || line.trim() === '') continue
    const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*(.*?)[ \t]*$/.exec(line) ?? []
    if (name === undefined || value === undefined) {
      return unreadable(`Line ${index + 1} of the headers file is no header.`)
    }
    pairs.push([name, value])
  }
  return { ok: true, pairs }
}

/** `{ name: value or values }`, or a list of pairs. */
function fromJson(text: string): HeadersRead {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return unreadable('The headers file is not JSON.')
  }
  const entries: unknown[] = Array.isArray(json) ? json : Object.entries(json as object)
  const pairs: [string, string][] = []
  for (const entry of entries) {
    const [name, value]: unknown[] = Array.isArray(entry) && entry.length === 2 ? entry : []
    const values = [value].flat()
    if (typeof name !== 'string' || !values.every((it) => typeof it === 'string')) {
      return unreadable('The headers file is JSON, but not of names with their values as text.')
    }
    for (const it of values) pairs.push([name, it])
  }
  return { ok: true, pairs }
}
