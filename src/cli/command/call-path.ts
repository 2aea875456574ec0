import { type Failure, usage } from '../failures/failure.js'

/** Characters that must be percent-encoded: all but unreserved, sub-delims and `: @ / ? %` (RFC 3986). */
const ENCODED = /[^A-Za-z0-9\-._~!$&'()*+,;=:@/?%]+/g
const ROOTS = /^\/(?:api\/v1|_platform\/v1)(?:\/|$)|^\/(?:healthz|readyz|metrics)(?:\?|$)/
const PREFIX = '/api/v1'

/** A path that Git Bash or MSYS2 changed to one in its installation, and the part of it that the user typed. */
const REWRITTEN = /^[a-z]:[\\/](?!\/)/i
const TYPED = /(?<=\/)(?:api|_platform|open-platform|bots|secure|healthz|readyz|metrics)\b.*$/

type PathResult = { readonly ok: true; readonly path: string } | Failure

/**
 * Normalises a typed path with its query. `/open-platform/…` gets the prefix /api/v1; `/api/v1/…`, `/_platform/v1/…`,
 * `/healthz`, `/readyz` and `/metrics` stay unchanged. The first slash is optional, because shells on Windows rewrite
 * it. Characters that a URL cannot contain are percent-encoded.
 */
export function readPath(typed: string): PathResult {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(typed) || typed.startsWith('//'))
    return usage('PATH must not contain the server; --base-url names it.')
  if (typed.includes('#')) return usage('PATH must not hold #; write %23 for the character.')
  if (REWRITTEN.test(typed)) {
    const part = TYPED.exec(typed.replaceAll('\\', '/'))?.[0] ?? 'open-platform/…'
    const hint = `Git Bash rewrites a path that begins with a slash. Type ${part}, or set MSYS_NO_PATHCONV=1.`
    return usage(`The shell rewrote PATH to ${typed}.`, hint)
  }
  const path = typed.startsWith('/') ? typed : `/${typed}`
  try {
    const encoded = path.replace(ENCODED, encodeURIComponent)
    return { ok: true, path: ROOTS.test(encoded) ? encoded : PREFIX + encoded }
  } catch {
    return usage('PATH contains an incomplete Unicode character (a lone surrogate).')
  }
}

export const withoutQuery = (path: string) => path.split('?', 1)[0] ?? path

/** Appends members to the query of a path. */
export function withQuery(path: string, members: readonly (readonly [name: string, value: string])[]): string {
  if (members.length === 0) return path
  const query = new URLSearchParams(members.map(([name, value]): [string, string] => [name, value]))
  return `${path}${path.includes('?') ? '&' : '?'}${query}`
}
