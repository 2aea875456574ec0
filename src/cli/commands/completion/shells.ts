import { inSingleQuotes } from '../../../values/shell-word.js'

export const shellNames = ['bash', 'zsh', 'fish', 'powershell'] as const
export type Shell = (typeof shellNames)[number]

export const isShell = (name: string): name is Shell => shellNames.some((it) => it === name)

/** An unfinished command line: the complete words, and the start of the word to complete. */
interface TypedLine {
  readonly before: readonly string[]
  readonly current: string
  /** The quote character that is open in the last word, if any. */
  readonly quote?: string
  /** Number of characters at the start of the last word that the shell keeps when it inserts a candidate. */
  readonly kept?: number
}

interface ShellAdapter {
  /** Parses the arguments that the shell's completion script passes. */
  read(args: readonly string[], env: Env): TypedLine | 'redirection'
  /** True if the shell filters candidates itself, as its user has configured. */
  readonly chooses?: true
  /** Quotes a candidate for the shell; undefined if the shell cannot insert it. */
  write(prefix: string, value: string, typed: TypedLine): string | undefined
}
type Env = Readonly<Record<string, string | undefined>>

const words = (all: readonly string[]): TypedLine => ({ before: all.slice(0, -1), current: all.at(-1) ?? '' })

/** Variable in which PowerShell passes the words, one per line: old versions lose empty and quoted arguments. */
export const WORDS_VARIABLE = 'VOUCHERCTL_COMPLETE_WORDS'

export const shells: Readonly<Record<Shell, ShellAdapter>> = {
  // The script for bash passes the line up to the cursor, and COMP_WORDBREAKS.
  bash: {
    read: ([line = '', breaks = '']) => readBashLine(line, breaks),
    write: (prefix, value, { quote = '', kept = 0 }) => quoteBash(`${prefix}${value}`.slice(kept), quote),
  },
  // zsh and fish quote the candidate themselves; the script for zsh has already removed `--flag=`.
  zsh: {
    read: words,
    chooses: true,
    write: (prefix, value) => (prefix.endsWith('=') ? value : `${prefix}${value}`),
  },
  fish: { read: words, chooses: true, write: (prefix, value) => `${prefix}${value}` },
  powershell: {
    read: (_args, env) => words((env[WORDS_VARIABLE] ?? '').split('\n')),
    write: (prefix, value) => quotePowerShell(`${prefix}${value}`),
  },
}

function quotePowerShell(text: string): string {
  return /^[\w./:=+-]+$/.test(text) ? text : `'${text.replace(/['‘’‚‛]/g, '$&$&')}'`
}

const SPACE = /[ \t\n]/

/**
 * Splits a line up to the cursor into words like bash: removes quotes and backslashes, but expands nothing.
 * @param breaks COMP_WORDBREAKS: bash replaces only the text after the last of these characters
 */
function readBashLine(line: string, breaks: string): TypedLine | 'redirection' {
  const reader = new BashReader(breaks)
  for (let i = 0; i < line.length; i += 1) {
    const char = line.charAt(i)
    if (char === '\\' && reader.quote !== "'") reader.addEscaped(line.charAt((i += 1)))
    else if (reader.quote !== '') reader.addQuoted(char)
    else reader.add(char)
  }
  return reader.result()
}

class BashReader {
  /** The quote character that is open, if any. */
  quote = ''
  readonly #breaks: string
  readonly #words: string[] = []
  #word = ''
  #started = false
  #kept = 0
  #redirects = false

  constructor(breaks: string) {
    this.#breaks = breaks
  }

  addEscaped(char: string): void {
    this.#word += this.quote === '"' && !'"\\$`'.includes(char) ? `\\${char}` : char
    this.#started = true
  }

  addQuoted(char: string): void {
    if (char === this.quote) this.quote = ''
    else this.#word += char
  }

  add(char: string): void {
    if (SPACE.test(char)) return this.#endWord()
    if (char === '<' || char === '>') return this.#redirect()
    this.#started = true
    if (char === '"' || char === "'") {
      this.quote = char
      // Bash inserts the candidate after the open quote.
      this.#kept = this.#word.length
      return
    }
    this.#word += char
    if (this.#breaks.includes(char)) this.#kept = this.#word.length
  }

  result(): TypedLine | 'redirection' {
    if (this.#redirects) return 'redirection'
    // The first word is the name of the program.
    return { before: this.#words.slice(1), current: this.#word, quote: this.quote, kept: this.#kept }
  }

  #redirect(): void {
    // A number before `<` or `>` is the number of a stream.
    if (/^\d+$/.test(this.#word)) this.#started = false
    this.#endWord()
    this.#redirects = true
  }

  #endWord(): void {
    // A word after `<` or `>` is a file name, not an argument of the command.
    if (this.#started && !this.#redirects) this.#words.push(this.#word)
    if (this.#started) this.#redirects = false
    this.#word = ''
    this.#started = false
    this.#kept = 0
  }
}

/**
 * Quotes a word for bash so that it continues after an open quote, if there is one. Undefined if that is impossible:
 * readline takes a final quote for the closing one, and history expansion replaces `!` in double quotes.
 */
function quoteBash(text: string, quote: string): string | undefined {
  if (quote !== '' && (text.endsWith(quote) || (quote === '"' && text.includes('!')))) return undefined
  if (quote === "'") return inSingleQuotes(text).slice(1, -1)
  if (quote === '"') return text.replace(/["\\$`]/g, '\\$&')
  return text.replace(/[^\p{L}\p{N}_@%+=:,./-]/gu, '\\$&')
}
