import { decodePart } from '../../../values/path-part.js'

/** Values of the pattern's parts that begin with a colon; null if the path does not match. */
export function matchPath(pattern: string, path: string): Record<string, string> | null {
  const parts = path.split('/').filter(Boolean)
  const wanted = pattern.split('/').filter(Boolean)
  if (parts.length !== wanted.length) return null
  const values: Record<string, string> = {}
  for (const [index, name] of wanted.entries()) {
    const part = decodePart(parts[index] ?? '')
    if (name[0] === ':') values[name.slice(1)] = part
    else if (name !== part) return null
  }
  return values
}
