import { hash } from 'node:crypto'

/**
 * Returns canonical JSON: equal values give equal text. Sorts members by code unit and omits undefined members; returns
 * `{}` for an absent body (DECISIONS.md#idempotency-keys).
 */
export function canonicalJson(value: unknown): string {
  if (value === undefined) return '{}'
  // JSON.parse reads 1e999 as Infinity, which JSON.stringify would write as null. String() also writes -0 as 0.
  if (typeof value === 'number') return String(value)
  if (typeof value === 'string') return quote(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  const members = value as Record<string, unknown>
  let text = ''
  for (const name of Object.keys(members).sort()) {
    const member = members[name]
    if (member === undefined) continue
    text += `${text === '' ? '' : ','}${quote(name)}:${canonicalJson(member)}`
  }
  return `{${text}}`
}

/** Printable ASCII without escapes: covers nearly every string in a quarter of the time of JSON.stringify. */
const PLAIN = /^[ !#-[\]-~]*$/

function quote(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text)
}

/**
 * Identifies the request of an idempotency key: SHA-256 over method, logical path and body, base64url. Plain and
 * encrypted calls have the same logical path.
 */
export function fingerprint(method: string, logicalPath: string, body: unknown): string {
  return hash('sha256', canonicalJson([method, logicalPath, body]), 'base64url')
}
