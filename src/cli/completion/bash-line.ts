import type { Typed } from './shells.js'

const SPACE = /[ \t\n]/

/**
 * A line of bash up to the cursor, taken apart as bash would: quotes and backslashes removed, nothing expanded.
 * @param breaks COMP_WORDBREAKS: bash replaces what stands behind the last of them
 */
export function readBashLine(line: string, breaks: string): Typed | 'redirection' {
  const words: string[] = []
  let word = ''
  let started = false
  let quote = ''
  let kept = 0
  let redirects = false
  const end = () => {
    // The name of a file that output goes to is no word of the command.
    if (started && !redirects) words.push(word)
    if (started) redirects = false
    word = ''
    started = false
    kept = 0
  }
  for (let i = 0; i < line.length; i += 1) {
    const char = line.charAt(i)
    if (quote === "'" || (quote === '"' && char !== '\\')) {
      if (char === quote) quote = ''
      else word += char
    } else if (char === '\\') {
      const next = line.charAt((i += 1))
      word += quote === '"' && !'"\\$`'.includes(next) ? `\\${next}` : next
      started = true
    } else if (char === '"' || char === "'") {
      quote = char
      started = true
      // What is inserted begins behind the quote.
      kept = word.length
    } else if (SPACE.test(char)) {
      end()
    } else if (char === '<' || char === '>') {
      if (/^\d+$/.test(word)) started = false
      end()
      redirects = true
    } else {
      word += char
      started = true
      if (breaks.includes(char)) kept = word.length
    }
  }
  if (redirects) return 'redirection'
  // The first is the program.
  return { before: words.slice(1), current: word, quote, kept }
}

/**
 * A word for bash to insert, behind an open quote or none. Undefined where none can stand: readline takes a quote at
 * the end for the closing one, and the history expands `!` between double quotes.
 */
export function quoteBash(text: string, quote: string): string | undefined {
  if (quote !== '' && (text.endsWith(quote) || (quote === '"' && text.includes('!')))) return undefined
  if (quote === "'") return text.replaceAll("'", "'\\''")
  if (quote === '"') return text.replace(/["\\$`]/g, '\\$&')
  return text.replace(/[^\p{L}\p{N}_@%+=:,./-]/gu, '\\$&')
}
