/** One call of a client: when it began and ended by one counter, what it asked for and what it got. */
export interface Event<Op> {
  readonly client: number
  readonly began: number
  readonly ended: number
  readonly op: Op
}

/**
 * Whether calls that overlapped could have happened one after the other, each at some instant between its begin and
 * its end: the search of Wing and Gong, which tries every call that began before the first end still open, and never
 * the same calls in the same state twice.
 * @param after the state after a call, null when the call cannot have got its answer in this state
 */
export function isLinearizable<State, Op>(
  history: readonly Event<Op>[],
  initial: State,
  after: (state: State, op: Op) => State | null,
): boolean {
  const events = [...history].sort((a, b) => a.began - b.began)
  const seen = new Set<string>()
  const search = (state: State, done: ReadonlySet<number>): boolean => {
    if (done.size === events.length) return true
    const visited = `${[...done].sort((a, b) => a - b).join()} ${JSON.stringify(state)}`
    if (seen.has(visited)) return false
    seen.add(visited)
    const open = events.flatMap((event, index) => (done.has(index) ? [] : [{ event, index }]))
    const firstEnd = Math.min(...open.map(({ event }) => event.ended))
    return open.some(({ event, index }) => {
      if (event.began > firstEnd) return false
      const next = after(state, event.op)
      return next !== null && search(next, new Set(done).add(index))
    })
  }
  return search(initial, new Set())
}

/** Notes calls with their begin and end. */
export class History<Op> {
  readonly events: Event<Op>[] = []
  #ticks = 0

  /** @param read what was asked and answered, as the operation of the specification */
  async call<Answer>(client: number, send: () => Promise<Answer>, read: (answer: Answer) => Op): Promise<Answer> {
    const began = ++this.#ticks
    const answer = await send()
    this.events.push({ client, began, ended: ++this.#ticks, op: read(answer) })
    return answer
  }
}
