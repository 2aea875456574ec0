/** Updates that are waited for: how many of which type, each update_id counted once. */
export class Expectation {
  readonly #wanted: ReadonlyMap<string, number>
  readonly #arrived = new Map<string, Set<string>>()

  constructor(wanted: ReadonlyMap<string, number>) {
    this.#wanted = wanted
  }

  /** A verified delivery; a repeat of one that was counted changes nothing. */
  count(type: string | null, updateId: string): void {
    const wanted = type === null ? undefined : this.#wanted.get(type)
    if (type === null || wanted === undefined) return
    const arrived = this.#arrived.get(type) ?? new Set()
    if (arrived.size < wanted) this.#arrived.set(type, arrived.add(updateId))
  }

  get isMet(): boolean {
    return this.missing().length === 0
  }

  missing(): { type: string; expected: number; arrived: number }[] {
    return [...this.#wanted]
      .map(([type, expected]) => ({ type, expected, arrived: this.#arrived.get(type)?.size ?? 0 }))
      .filter(({ expected, arrived }) => arrived < expected)
  }
}
