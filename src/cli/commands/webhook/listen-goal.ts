import type { RequestEvent } from '../../../workbench/listener.js'
import { type Failure, fail } from '../../failures/failure.js'

/** Counts the deliveries that `--expect` and `--max-events` wait for. */
export class Goal {
  readonly #expected: ReadonlyMap<string, number>
  readonly #eventsMax: number | undefined
  /** Update ids that have arrived, by expected type. */
  readonly #arrived: ReadonlyMap<string, Set<string>>
  #events = 0
  /** Why an expected update cannot arrive. */
  hint: string | undefined

  constructor(expected: ReadonlyMap<string, number>, eventsMax: number | undefined) {
    this.#expected = expected
    this.#eventsMax = eventsMax
    this.#arrived = new Map([...expected.keys()].map((type) => [type, new Set()]))
  }

  /** Adds a request. Returns true if everything has arrived. */
  add({ update, verdict }: RequestEvent): boolean {
    if (update?.type) this.#arrived.get(update.type)?.add(update.id)
    if (verdict === 'ok') this.#events += 1
    return this.#events === this.#eventsMax || (this.#expected.size > 0 && this.#missing().length === 0)
  }

  /** Returns the failure that names what did not arrive within the time limit; undefined if nothing is missing. */
  failure(limitMs: number): Failure | undefined {
    const missing = this.#missing()
    if (missing.length > 0) {
      const inWords = missing.map(({ type, expected, arrived }) => `${type} ${arrived} of ${expected}`).join(', ')
      return fail(
        'NOT_ALL_ARRIVED',
        `Timed out after ${limitMs / 1000} s; arrived: ${inWords}.`,
        this.hint ?? 'List what arrived with `voucherctl webhook inbox list`.',
        { missing },
      )
    }
    const wanted = this.#eventsMax
    if (this.#expected.size > 0 || wanted === undefined || this.#events >= wanted) return undefined
    return fail('NOT_ALL_ARRIVED', `${this.#events} of ${wanted} deliveries arrived in time.`)
  }

  #missing() {
    return [...this.#expected]
      .map(([type, expected]) => ({ type, expected, arrived: this.#arrived.get(type)?.size ?? 0 }))
      .filter((it) => it.arrived < it.expected)
  }
}
