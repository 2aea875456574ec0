import type { Group, Leaf, Node, Positional } from '../command/leaf.js'
import { isGroup } from '../command/leaf.js'
import type { Flag, Flags, Given } from '../flags/flags.js'
import { globalFlags } from '../flags/globals.js'
import { fieldNames } from '../output/fields.js'
import { findEntry, findNode, page, topics } from '../program.js'
import { helpWord, type Word } from './command-words.js'
import type { IdKind, LocalKind, ValueKind } from './kinds.js'
import { isLocal, kindOfFlag, kindOfPositional } from './kinds.js'

/** What may stand at the end of an unfinished command line. `prefix` is of the same word: `--output=`. */
export type Wanted = { readonly prefix: string } & (
  | { readonly kind: 'words'; readonly words: readonly Word[] }
  | { readonly kind: 'files' | 'folders' }
  | { readonly kind: 'ids'; readonly of: IdKind; readonly path: string; readonly given: Given }
  | {
      readonly kind: 'local'
      readonly of: LocalKind
      readonly path: string
      readonly given: Given
      readonly operands: readonly string[]
      readonly current: string
    }
)

const nothing: Wanted = { kind: 'words', prefix: '', words: [] }

/** @param before whole words, without the program's name; @param current the beginning of the next, maybe empty */
export async function wantedAt(before: readonly string[], current: string): Promise<Wanted> {
  const line = new Line()
  for (const word of before) await line.take(word)
  return line.next(current)
}

/**
 * An unfinished command line. It has its own parser because commander parses complete lines only and refuses invalid
 * ones; completion refuses nothing.
 */
class Line {
  readonly given = new Map<string, string[]>()
  readonly path: string[] = []
  node: Node | undefined
  readonly operands: string[] = []
  /** Named something that is not there. */
  lost = false
  help = false
  /** After `--` nothing is a flag. */
  flagsEnded = false
  /** A flag whose value comes next. */
  waiting: string | undefined

  get leaf(): Leaf | undefined {
    return this.node === undefined || isGroup(this.node) ? undefined : this.node
  }

  /** What the line does if no other name follows. */
  get acting(): Leaf | undefined {
    return this.node !== undefined && isGroup(this.node) ? this.node.own : this.node
  }

  get flags(): Flags {
    return { ...this.acting?.flags, ...globalFlags }
  }

  async take(word: string): Promise<void> {
    if (this.waiting !== undefined) this.#give(this.waiting, word)
    else if (word === '--' && !this.flagsEnded) this.flagsEnded = true
    else if (!this.flagsEnded && word.startsWith('--')) this.#takeLong(word.slice(2))
    else if (!this.flagsEnded && word.length > 1 && word.startsWith('-')) this.#takeLetters(word.slice(1))
    else await this.#takeOperand(word)
  }

  next(current: string): Wanted {
    if (this.waiting !== undefined) return this.#value(this.waiting, '', current)
    if (!this.flagsEnded) {
      const [, long] = /^--([^=]+)=/.exec(current) ?? []
      if (long !== undefined) return this.#value(long, `--${long}=`, current)
      const letter = current.length > 2 && /^-[^-]/.test(current) ? this.#byLetter(current.charAt(1)) : undefined
      if (letter?.[1].value !== undefined) return this.#value(letter[0], current.slice(0, 2), current)
      if (current.startsWith('-')) return this.lost ? nothing : this.#flagNames(Object.entries(this.flags))
    }
    return this.lost ? nothing : this.#operand(current)
  }

  #takeLong(text: string): void {
    const [name = '', ...value] = text.split('=')
    const flag = this.flags[name]
    if (flag?.value === undefined) this.#give(name, '')
    else if (text.includes('=')) this.#give(name, value.join('='))
    else this.waiting = name
  }

  /** `-q`, `-qn`, `-ojson`, `-o json` */
  #takeLetters(letters: string): void {
    const [name, flag] = this.#byLetter(letters.charAt(0)) ?? []
    if (name === undefined) return
    const rest = letters.slice(1)
    if (flag?.value === undefined) {
      this.#give(name, '')
      if (rest !== '') this.#takeLetters(rest)
    } else if (rest === '') this.waiting = name
    else this.#give(name, rest)
  }

  #byLetter(letter: string): [string, Flag<unknown>] | undefined {
    return Object.entries<Flag<unknown>>(this.flags).find(([, flag]) => flag.letter === letter)
  }

  #give(name: string, text: string): void {
    this.given.set(name, [...(this.given.get(name) ?? []), text])
    this.waiting = undefined
  }

  async #takeOperand(word: string): Promise<void> {
    if (this.leaf !== undefined) this.operands.push(word)
    else if (this.node !== undefined && isGroup(this.node)) this.#enterBelow(this.node, word)
    else if (word === 'help' && !this.help) this.help = true
    else this.#enter(await findEntry(word)?.load())
  }

  #enterBelow({ commands, own }: Group, word: string): void {
    const child = findNode(commands, word)
    if (child !== undefined || own === undefined) return this.#enter(child)
    // Not a name beneath the group: its own argument.
    this.node = own
    this.operands.push(word)
  }

  #enter(node: Node | undefined): void {
    if (node === undefined) this.lost = true
    else this.path.push(node.name)
    this.node = node
  }

  #operand(current: string): Wanted {
    const { leaf } = this
    if (leaf === undefined) return { kind: 'words', prefix: '', words: this.#names() }
    if (this.help) return nothing
    const { positional, second } = leaf
    const operand: Positional | undefined = positional?.several
      ? positional
      : [positional, second][this.operands.length]
    if (operand !== undefined) return this.#ofKind(kindOfPositional(operand), '', operand.choices ?? [], current)
    // Nothing but flags can follow.
    return this.flagsEnded ? nothing : this.#flagNames(Object.entries(leaf.flags ?? {}))
  }

  #names(): Word[] {
    if (this.node !== undefined && isGroup(this.node)) {
      const own = this.help ? [] : (this.node.own?.positional?.choices ?? [])
      const names = this.node.commands.map((it) => ({ value: it.name, summary: it.summary }))
      return [...names, ...own.map((value) => ({ value, summary: '' }))]
    }
    const groups = page.map((it) => ({ value: it.name, summary: it.summary }))
    if (!this.help) return [...groups, helpWord]
    return [...groups, ...Object.entries(topics).map(([value, summary]) => ({ value, summary }))]
  }

  /** Those that can still be given, as they are declared; the ones that are needed come first. */
  #flagNames(flags: readonly (readonly [string, Flag<unknown>])[]): Wanted {
    const open = flags.filter(([name, flag]) => this.#isOpen(name, flag))
    const needed = ([, { ask }]: (typeof flags)[number]) => (ask === undefined ? 1 : 0)
    const words = [...open]
      .sort((a, b) => needed(a) - needed(b))
      .map(([name, { summary }]) => ({ value: `--${name}`, summary }))
    return { kind: 'words', prefix: '', words }
  }

  #isOpen(name: string, { repeatable, unless }: Flag<unknown>): boolean {
    if (name === 'idempotency-key' && this.acting?.idempotent !== true) return false
    if (unless !== undefined && this.given.has(unless)) return false
    return repeatable === true || !this.given.has(name)
  }

  #value(name: string, prefix: string, current: string): Wanted {
    const flag = Object.hasOwn(this.flags, name) ? this.flags[name] : undefined
    if (flag?.value === undefined) return nothing
    const used = this.given.get(name) ?? []
    const choices = (flag.choices ?? []).filter((it) => !used.includes(it))
    return this.#ofKind(kindOfFlag(name, flag), prefix, choices, current)
  }

  #ofKind(kind: ValueKind, prefix: string, choices: readonly string[], current: string): Wanted {
    if (kind === 'free') return nothing
    if (kind === 'files' || kind === 'folders') return { kind, prefix }
    if (kind === 'fields') return { kind: 'words', prefix, words: this.#fields(current.slice(prefix.length)) }
    if (isLocal(kind)) {
      const { given, operands } = this
      return { kind: 'local', of: kind, prefix, path: this.path.join(' '), given, operands, current }
    }
    if (kind !== 'choices') return { kind: 'ids', of: kind, prefix, path: this.path.join(' '), given: this.given }
    return { kind: 'words', prefix, words: choices.map((value) => ({ value, summary: '' })) }
  }

  /** The next of a list, behind those that stand there. */
  #fields(typed: string): Word[] {
    const before = typed.slice(0, typed.lastIndexOf(',') + 1)
    const shape = this.acting?.output
    const names = shape === undefined ? [] : fieldNames(shape)
    const used = before.split(',')
    return names.filter((it) => !used.includes(it)).map((it) => ({ value: `${before}${it}`, summary: '' }))
  }
}
