/**
 * Counts how often a campaign reaches the states in which defects would show. A long campaign that misses one of its
 * states is blind to defects there, and fails (run-campaign.ts).
 */
export class Sometimes {
  readonly #counts = new Map<string, number>()

  /** @param states every state that a long run must reach */
  constructor(readonly states: readonly string[]) {}

  /** Counts a state that the run has observed; a state outside `states` is only reported. */
  note(state: string, times = 1): void {
    if (times > 0) this.#counts.set(state, this.count(state) + times)
  }

  count(state: string): number {
    return this.#counts.get(state) ?? 0
  }

  /** All counted states with their counts. */
  counts(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  /** The required states that the run has not reached. */
  missed(): readonly string[] {
    return this.states.filter((it) => this.count(it) === 0)
  }
}
