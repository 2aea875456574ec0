import type { Flag } from './flags.js'
import { globalFlags } from './globals.js'

/** Names of the command that the arguments begin with, without its flags: enough to load its group. */
export function operandsOf(argv: readonly string[]): readonly string[] {
  const operands: string[] = []
  for (let i = 0; i < argv.length; i += 1) {
    const arg = argv[i] ?? ''
    if (arg === '--') break
    if (!arg.startsWith('-') || arg === '-') operands.push(arg)
    else if (takesNext(arg)) i += 1
  }
  return operands
}

function takesNext(arg: string): boolean {
  const named = Object.entries<Flag<unknown>>(globalFlags).find(
    ([name, { letter }]) => arg === `--${name}` || arg === `-${letter}`,
  )
  return named?.[1].value !== undefined
}

/** The value of a flag, before it is known which flags there are. */
export function flagIn(argv: readonly string[], name: string, letter?: string): string | undefined {
  const inside = argv.find((it) => it.startsWith(`--${name}=`))?.slice(`--${name}=`.length)
  const short = letter === undefined ? undefined : `-${letter}`
  const joined = argv.find((it) => short !== undefined && it.startsWith(short) && it.length > 2)?.slice(2)
  const at = argv.findIndex((it) => it === short || it === `--${name}`)
  return inside ?? joined ?? (at >= 0 ? argv[at + 1] : undefined)
}
