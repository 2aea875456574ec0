/** One client call: start and end are values of a shared counter, `op` is the request with its result. */
export interface Event<Op> {
  readonly client: number
  readonly began: number
  readonly ended: number
  readonly op: Op
}

/**
 * Returns whether some sequential order of the calls explains all results, where each call takes effect between its
 * start and its end. Algorithm of Wing and Gong: tries next every call that began before the earliest end of the
 * remaining calls, and skips combinations of executed calls and state that it has already searched.
 * @param after returns the state after a call, or null if the call cannot have its result in that state
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

/** Records the start and end of client calls for isLinearizable(). */
export class History<Op> {
  readonly events: Event<Op>[] = []
  #ticks = 0

  /** @param read converts the response to an `op` */
  async call<T>(client: number, send: () => Promise<T>, read: (response: T) => Op): Promise<T> {
    const began = ++this.#ticks
    const response = await send()
    this.events.push({ client, began, ended: ++this.#ticks, op: read(response) })
    return response
  }
}
