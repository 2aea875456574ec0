import { hash } from 'node:crypto'

/**
 * One text for every JSON text of the same value: members sorted by code unit, numbers and strings by value
 * (DECISIONS.md#idempotency-keys). An absent body counts as `{}`; absent members as not there.
 */
export function canonicalJson(value: unknown): string {
  if (value === undefined) return '{}'
  // JSON.parse reads 1e999 as Infinity, which JSON.stringify would make equal to null. -0 gives 0.
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

/** Printable ASCII that needs no escape: nearly every string, at a quarter of what JSON.stringify takes. */
const PLAIN = /^[ !#-[\]-~]*$/

function quote(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text)
}

/**
 * What an Idempotency-Key is bound to: SHA-256 over method, logical path and body, base64url. Plain and
 * encrypted calls have the same logical path.
 */
export function fingerprint(method: string, logicalPath: string, body: unknown): string {
  return hash('sha256', canonicalJson([method, logicalPath, body]), 'base64url')
}
