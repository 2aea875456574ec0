import type { Endpoint } from '../../contract/endpoint.js'
import { asMembers, type Members } from '../../values/json.js'
import { shellWord } from '../../values/shell-word.js'
import { conflictsOf } from '../flags/flags.js'
import { optionsOf } from './line-with-answers.js'
import { textsOf } from './member-flags.js'
import type { NamedLeaf } from './tree.js'

/**
 * Formats the command line that makes a call: the inverse of reading the input of a call from flags and argument. It
 * leaves out members that no flag or argument sets, such as a secret.
 * @throws Error if no command makes the call
 */
export function commandLine(leaves: readonly NamedLeaf[], { id }: Pick<Endpoint, 'id'>, input: Members): string {
  const found = leaves.find(([, it]) => it.endpoint?.id === id) ?? leaves.find(([, it]) => it.alsoCalls?.[id])
  if (found === undefined) throw new Error(`No command calls ${id}.`)
  const [path, leaf] = found
  const { flags = {}, positional, alsoCalls = {} } = leaf
  const given = new Map<string, readonly string[]>()
  for (const [, name = ''] of alsoCalls[id]?.matchAll(/--(\S+)/g) ?? [])
    if (flags[name]?.value === undefined) given.set(name, [''])
  for (const [name, flag] of Object.entries(flags)) {
    const texts = typeof flag.member === 'string' ? textsOf(flag, valueAt(input, flag.member)) : []
    if (texts.length > 0 && !conflictsOf(flags, name).some((it) => given.has(it))) given.set(name, texts)
  }
  const options = optionsOf(leaf, given)
  const value = positional?.member === undefined ? undefined : input[positional.member]
  // The form of a credential says its type.
  const operand = asMembers(value)?.value ?? value
  const word = operand === undefined ? [] : [shellWord(String(operand))]
  const isFlagLike = String(operand).startsWith('-')
  return ['voucherctl', ...path, ...(isFlagLike ? [...options, '--', ...word] : [...word, ...options])].join(' ')
}

const valueAt = (input: unknown, path: string) => path.split('/').reduce((it, part) => asMembers(it)?.[part], input)
