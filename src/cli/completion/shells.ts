import { inSingleQuotes } from '../../contract/values/shell-word.js'

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
  const words: string[] = []
  let word = ''
  let started = false
  let quote = ''
  let kept = 0
  let redirects = false
  const end = () => {
    // A word after `<` or `>` is a file name and no word of the command.
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
      // Bash inserts the candidate after the open quote.
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
  // The first word is the name of the program.
  return { before: words.slice(1), current: word, quote, kept }
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
