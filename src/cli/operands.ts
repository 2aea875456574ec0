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
