/** A piece of JSON text: punctuation with the space around it, a member name, or a value. */
export interface JsonPiece {
  readonly kind: 'mark' | 'name' | 'text' | 'value'
  readonly text: string
}

const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g

/** Indents JSON without changing its tokens, so that long numbers keep their digits; null for anything but JSON. */
export function formatJson(text: string): JsonPiece[] | null {
  try {
    JSON.parse(text)
  } catch {
    return null
  }
  const tokens = text.match(token) ?? []
  const pieces: JsonPiece[] = []
  let marks = ''
  let depth = 0
  const add = (kind: JsonPiece['kind'], it: string) => {
    if (marks) pieces.push({ kind: 'mark', text: marks })
    marks = ''
    if (it) pieces.push({ kind, text: it })
  }
  const line = () => `\n${'  '.repeat(depth)}`
  for (const [index, it] of tokens.entries()) {
    const empty = '{['.includes(tokens[index - 1] ?? '?') && '}]'.includes(it)
    if ('}]'.includes(it)) {
      depth--
      marks += empty ? it : line() + it
    } else if (it === ',') marks += it + line()
    else if (it === ':') marks += ': '
    else if ('{['.includes(it)) {
      depth++
      marks += it + ('}]'.includes(tokens[index + 1] ?? '?') ? '' : line())
    } else add(it[0] !== '"' ? 'value' : tokens[index + 1] === ':' ? 'name' : 'text', it)
  }
  add('mark', '')
  return pieces
}
