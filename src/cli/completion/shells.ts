export const shellNames = ['bash', 'zsh', 'fish', 'powershell'] as const
export type Shell = (typeof shellNames)[number]

export const isShell = (name: string): name is Shell => shellNames.some((it) => it === name)

/** The words before the cursor, and the beginning of the one that is completed. */
interface Typed {
  readonly before: readonly string[]
  readonly current: string
  /** The quote that the last word has opened, if any. */
  readonly quote?: string
  /** Characters of the last word that the shell keeps: what is inserted begins behind them. */
  readonly kept?: number
}

interface Dialect {
  /** What the shell's script hands over. */
  read(args: readonly string[], env: Host['env']): Typed | 'redirection'
  /** The shell chooses by itself what fits the beginning, as its user has set it up. */
  readonly chooses?: true
  /** A word as the script takes it; undefined where it cannot stand. */
  write(prefix: string, value: string, typed: Typed): string | undefined
}
type Host = { readonly env: Readonly<Record<string, string | undefined>> }

const words = (all: readonly string[]): Typed => ({ before: all.slice(0, -1), current: all.at(-1) ?? '' })

/** The variable in which PowerShell hands over the words, one a line: older ones lose empty and quoted arguments. */
export const WORDS_VARIABLE = 'VOUCHERCTL_COMPLETE_WORDS'

export const shells: Readonly<Record<Shell, Dialect>> = {
  // The line up to the cursor, and what bash ends words at.
  bash: {
    read: ([line = '', breaks = '']) => readBashLine(line, breaks),
    write: (prefix, value, { quote = '', kept = 0 }) => quoteBash(`${prefix}${value}`.slice(kept), quote),
  },
  // zsh and fish quote what they insert; zsh has put `--flag=` aside.
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
 * A line of bash up to the cursor, taken apart as bash would: quotes and backslashes removed, nothing expanded.
 * @param breaks COMP_WORDBREAKS: bash replaces what stands behind the last of them
 */
function readBashLine(line: string, breaks: string): Typed | 'redirection' {
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
function quoteBash(text: string, quote: string): string | undefined {
  if (quote !== '' && (text.endsWith(quote) || (quote === '"' && text.includes('!')))) return undefined
  if (quote === "'") return text.replaceAll("'", "'\\''")
  if (quote === '"') return text.replace(/["\\$`]/g, '\\$&')
  return text.replace(/[^\p{L}\p{N}_@%+=:,./-]/gu, '\\$&')
}
