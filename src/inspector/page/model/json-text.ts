/** Levels that are indented; a hostile body can have 30,000. */
const INDENTED_MAX = 30

/** Indents JSON without changing its tokens, so that long numbers keep their digits; null for anything but JSON. */
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

/** Parts of JSON text: each odd one is a name with its colon, a string, a number or a literal. */
export const jsonParts = (text: string): string[] =>
  // A string without an end reaches to the end: otherwise each quote in it would be tried as a beginning.
  text.split(/("(?:[^"\\]|\\[^]?)*(?:":?|$)|[\w.+-]+)/)
