import { decodePart, readTarget } from '../../../contract/values/path-part.js'

/** Values of the pattern's parts that begin with a colon; null if the path does not match. */
export function matchPath(pattern: string, path: string): Record<string, string> | null {
  const parts = path.split('/').filter(Boolean)
  const wanted = pattern.split('/').filter(Boolean)
  const isSame = wanted.every((it, at) => it[0] === ':' || it === decodePart(parts[at] ?? ''))
  return parts.length === wanted.length && isSame ? readTarget(wanted.join('/'), parts.join('/')).params : null
}
