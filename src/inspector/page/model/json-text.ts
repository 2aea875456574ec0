/** Maximum levels to indent (a hostile body can have 30,000). */
const INDENTED_MAX = 30

/** Indents JSON without changing its tokens, so that long numbers keep their digits; null for other text. */
export function indentJson(text: string): string | null {
  try {
    JSON.parse(text)
  } catch {
    return null
  }
  let depth = 0
  const line = () => `\n${'  '.repeat(Math.min(depth, INDENTED_MAX))}`
  return text
    .replace(/"(?:[^"\\]|\\.)*"|[{}[\],:]|\s+/g, (token) => {
      if (token === '{' || token === '[') depth++
      if (token === '}' || token === ']') {
        depth--
        return line() + token
      }
      return token === ':' ? ': ' : '{[,'.includes(token) ? token + line() : token.trim()
    })
    .replace(/([{[])\n[\n ]*([}\]])/g, '$1$2')
}

/** Splits JSON text into parts; each odd part is a name with its colon, a string, a number or a literal. */
export const jsonParts = (text: string): string[] =>
  // An unclosed string reaches to the end of the text: otherwise each quote in the string would be tried as a start.
  text.split(/("(?:[^"\\]|\\[^]?)*(?:":?|$)|[\w.+-]+)/)

/** Reads a JSON object; null for other text. */
export function objectIn(text: string): Record<string, unknown> | null {
  try {
    const read: unknown = JSON.parse(text)
    return read && typeof read === 'object' && !Array.isArray(read) ? (read as Record<string, unknown>) : null
  } catch {
    return null
  }
}
