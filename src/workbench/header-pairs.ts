/** Converts a flat list of header names and values, such as node's `rawHeaders`, to pairs. */
export function pairsOf(headers: readonly string[]): [name: string, value: string][] {
  const pairs: [string, string][] = []
  for (let at = 0; at + 1 < headers.length; at += 2) pairs.push([headers[at] ?? '', headers[at + 1] ?? ''])
  return pairs
}

/** Removes Content-Length, which may be wrong for the body that is sent; the sender sets the right one. */
export const withoutContentLength = (headers: readonly string[]) =>
  pairsOf(headers)
    .filter(([name]) => name.toLowerCase() !== 'content-length')
    .flat()

/** Converts an update_id for JSON output: a number if JSON parsers represent it exactly, else a text of digits. */
export function updateIdOf(digits: string | null): number | string | null {
  if (digits === null) return null
  return Number.isSafeInteger(Number(digits)) ? Number(digits) : digits
}
