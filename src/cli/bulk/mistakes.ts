import type { ValidationIssue } from '../../contract/envelope.js'
import { numberText } from '../output/text.js'
import type { BadRow } from './input/row.js'

/** Maximum mistakes that a failure names. */
const SHOWN_MAX = 10

/** Collects the mistakes of a file for its failure: equal ones once, with their count. */
export class Mistakes {
  readonly #shown = new Map<string, { readonly row: BadRow; count: number }>()
  count = 0
  #more = 0

  add(row: BadRow): void {
    const key = `${row.fault.code} ${row.fault.message}`
    const known = this.#shown.get(key)
    this.count += 1
    if (known !== undefined) known.count += 1
    else if (this.#shown.size < SHOWN_MAX) this.#shown.set(key, { row, count: 1 })
    else this.#more += 1
  }

  get details() {
    const errors = [...this.#shown.values()].map(({ row, count }): ValidationIssue => {
      const others = count === 1 ? '' : ` and ${numberText(count - 1)} more`
      return { pointer: `line ${row.line}${others}`, code: row.fault.code, message: row.fault.message }
    })
    return { errors, ...(this.#more > 0 ? { more: this.#more } : {}) }
  }
}
