/** Decodes percent escapes in a part of a path; returns a part with a malformed escape unchanged. */
export function decodePart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Reads path parameters and query of a request target, which may be malformed. @param pattern such as /bots/:botId */
export function readTarget(pattern: string, target: string) {
  const own = target.replace(/^[^/]+\/\/[^/?#]*/, '')
  const [path = ''] = own.split(/[?#]/, 1)
  const segments = path.split('/')
  const params: Record<string, string> = {}
  for (const [at, part] of pattern.split('/').entries())
    if (part.startsWith(':')) params[part.slice(1)] = decodePart(segments[at] ?? '')
  return { params, query: new URLSearchParams(own.slice(path.length + 1)) }
}
