import { shellWord } from '../../contract/values/shell-word.js'
import { optionOf } from '../failures/suggestions.js'
import type { Flags } from '../flags/flags.js'
import { globalFlags } from '../flags/globals.js'

interface Line {
  readonly path: readonly string[]
  readonly given: ReadonlyMap<string, readonly string[]>
  readonly operands: readonly string[]
  readonly leaf?: { readonly flags?: Flags } | undefined
}

/** A command line to which prompts add their answers, so that a user can run it again without typing them. */
export class LineWithAnswers {
  readonly path: readonly string[]
  readonly given: Map<string, readonly string[]>
  readonly operands: string[]
  /** True after the first answer. */
  hasAnswers = false
  readonly #flags: Flags

  constructor({ path, given, operands, leaf }: Line) {
    this.path = path
    this.given = new Map(given)
    this.operands = [...operands]
    this.#flags = { ...globalFlags, ...leaf?.flags }
  }

  /** @param slot name of a flag, or index of a positional argument @param texts never a secret, because it is printed */
  answer(slot: string | number, texts: readonly string[]): void {
    this.hasAnswers = true
    if (typeof slot === 'string') this.given.set(slot, texts)
    else this.operands[slot] = texts[0] ?? ''
  }

  /** Formats the line for a shell. It contains no secret, because no flag takes a secret as its value. */
  toString(): string {
    const options = [...this.given].flatMap(([name, values]) => {
      const takesValue = Object.hasOwn(this.#flags, name) && this.#flags[name]?.value !== undefined
      return values.map((value) => (takesValue ? optionOf(name, value) : `--${name}`))
    })
    const isFlagLike = this.operands.some((it) => it.startsWith('-') && it !== '-')
    const words = [...(isFlagLike ? ['--'] : []), ...this.operands.map(shellWord)]
    return ['voucherctl', ...this.path, ...options, ...words].join(' ')
  }
}
