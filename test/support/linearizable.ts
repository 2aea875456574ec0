/** One call of a client with its start and end on a shared counter; `op` holds request and result. */
export interface Event<Op> {
  readonly client: number
  readonly began: number
  readonly ended: number
  readonly op: Op
}

/**
 * Returns whether overlapping calls could have run sequentially, each at some instant between its start and its end.
 * Search of Wing and Gong: tries every call that began before the first open end, and visits no combination of finished
 * calls and state twice.
 * @param after returns the state after a call, null if the call cannot have this result in this state
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

/** Records calls with their start and end. */
export class History<Op> {
  readonly events: Event<Op>[] = []
  #ticks = 0

  /** @param read converts a response to the operation of the specification */
  async call<Answer>(client: number, send: () => Promise<Answer>, read: (answer: Answer) => Op): Promise<Answer> {
    const began = ++this.#ticks
    const answer = await send()
    this.events.push({ client, began, ended: ++this.#ticks, op: read(answer) })
    return answer
  }
}
