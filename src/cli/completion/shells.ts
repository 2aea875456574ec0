import { quoteBash, readBashLine } from './bash-line.js'

export const shellNames = ['bash', 'zsh', 'fish', 'powershell'] as const
export type Shell = (typeof shellNames)[number]

export const isShell = (name: string): name is Shell => shellNames.some((it) => it === name)

/** The words before the cursor, and the beginning of the one that is completed. */
export interface Typed {
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
