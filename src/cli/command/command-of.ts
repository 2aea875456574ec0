import type { CommandLine } from '../command-line.js'
import { globalFlags } from '../flags/globals.js'
import { shellWord } from '../host/shell.js'

/** Formats a parsed command line for a shell. It contains no secret, because no flag takes one. */
export function commandOf({ path, given, operands, leaf }: CommandLine): string {
  const flags = { ...globalFlags, ...leaf?.flags }
  const options = [...given].flatMap(([name, values]) => {
    const takesValue = Object.hasOwn(flags, name) && flags[name as keyof typeof flags].value !== undefined
    return values.map((value) => (takesValue ? optionOf(name, value) : `--${name}`))
  })
  const isFlagLike = operands.some((it) => it.startsWith('-') && it !== '-')
  const words = [...(isFlagLike ? ['--'] : []), ...operands.map(shellWord)]
  return ['voucherctl', ...path, ...options, ...words].join(' ')
}

const optionOf = (name: string, value: string) =>
  value.startsWith('-') ? `--${name}=${shellWord(value)}` : `--${name} ${shellWord(value)}`
