import type { Endpoint } from '../../contract/endpoint.js'
import { shellWord } from '../../values/shell-word.js'
import { optionOf } from '../failures/failure.js'
import type { Flag, Flags, FlagTexts } from '../flags/flags.js'
import { globalFlags } from '../flags/globals.js'

interface Line {
  readonly path: readonly string[]
  readonly given: FlagTexts
  readonly operands: readonly string[]
  readonly leaf?: Command | undefined
}

/** The members of a `Leaf` that name what a call sends. */
interface Command {
  readonly flags?: Flags
  readonly positional?: Argument | undefined
  readonly endpoint?: Endpoint
}

interface Argument {
  readonly name: string
  readonly member?: string
}

/** A command line to which prompts add their answers, so that a user can run it again without typing them. */
export class LineWithAnswers {
  readonly path: readonly string[]
  readonly given: Map<string, readonly string[]>
  readonly operands: string[]
  hasAnswers = false
  readonly leaf: Command

  constructor({ path, given, operands, leaf = {} }: Line) {
    this.path = path
    this.given = new Map(given)
    this.operands = [...operands]
    this.leaf = leaf
  }

  /** @param slot name of a flag, or index of a positional argument @param texts never a secret, because it is printed */
  answer(slot: string | number, texts: readonly string[]): void {
    this.hasAnswers = true
    if (typeof slot === 'string') this.given.set(slot, texts)
    else this.operands[slot] = texts[0] ?? ''
  }

  /** Formats the line for a shell. It contains no secret, because no flag takes a secret as its value. */
  toString(): string {
    const options = optionsOf(this.leaf, this.given)
    const isFlagLike = this.operands.some((it) => it.startsWith('-') && it !== '-')
    const words = [...(isFlagLike ? ['--'] : []), ...this.operands.map(shellWord)]
    return ['voucherctl', ...this.path, ...options, ...words].join(' ')
  }

  /**
   * Names the flag or argument that supplied a member of a call, such as `--valid-from` for `/validity/starts_at`, or
   * the member and the file if a file supplied it; undefined for a member that the command does not know.
   */
  nameOf(pointer: string): string | undefined {
    const { flags = {}, positional } = this.leaf
    const path = pointer.replace(/^\//, '')
    const found = Object.entries(flags).flatMap(([name, flag]) => {
      const member = [flag.member ?? []].flat().find((it) => isWithin(path, it) || isWithin(it, path))
      return member === undefined ? [] : [{ name, flag, rest: path.slice(member.length + 1) }]
    })
    const typed = found.filter(({ name }) => this.given.has(name))
    if (typed.length === 0 && isWithin(path, positional?.member)) return positional?.name
    const file = this.given.get('file')?.at(-1)
    const isMember = pointer.startsWith('/') && !pointer.startsWith(`${file}:`)
    if (typed.length === 0 && isMember && file !== undefined && flags.file !== undefined) {
      return `${path.replaceAll('/', '.')} in ${file === '-' ? 'standard input' : file}`
    }
    const [first, ...others] = typed.length === 0 ? found : typed
    if (first === undefined) return undefined
    const names = [first, ...others].map(({ name }) => `--${name}`).join(', ')
    return others.length > 0 ? names : withPart(names, first.flag, first.rest, this.given.get(first.name) ?? [])
  }
}

/** Formats flags with their values for a shell. */
export function optionsOf(leaf: Command, given: FlagTexts): string[] {
  const flags: Flags = { ...globalFlags, ...leaf.flags }
  return [...given].flatMap(([name, values]) => {
    const takesValue = Object.hasOwn(flags, name) && flags[name]?.value !== undefined
    return values.map((value) => (takesValue ? optionOf(name, value) : `--${name}`))
  })
}

const isWithin = (path: string, member: string | undefined) => path === member || path.startsWith(`${member}/`)

/** Adds the refused part of a flag that has several values: the value itself, or its key. */
function withPart(name: string, flag: Flag<unknown>, rest: string, texts: readonly string[]): string {
  if (rest === '' || flag.repeatable !== true) return name
  const [part = ''] = rest.split('/')
  const value = /^\d+$/.test(part) ? texts[Number(part)] : part
  return value === undefined ? name : `${name} ${shellWord(value)}`
}
