/** Calls that may wait for a connection to one address. */
export const WAITING_MAX = 10_000

type Task = () => Promise<void>

/** Runs as many tasks concurrently as there are connections to an address; further tasks wait in their order. */
export class ConnectionQueue {
  readonly #connections: number
  #waiting: Task[] = []
  #busy = 0
  #waitingMax = 0
  #whenIdle: (() => void) | undefined

  constructor(connections: number) {
    this.#connections = connections
  }

  get waiting(): number {
    return this.#waiting.length
  }

  get waitingMax(): number {
    return this.#waitingMax
  }

  /** Runs a task, or lets it wait. Returns false if too many tasks wait already. The task must not reject. */
  add(task: Task): boolean {
    if (this.#busy < this.#connections) {
      this.#run(task)
      return true
    }
    if (this.#waiting.length >= WAITING_MAX) return false
    this.#waiting.push(task)
    this.#waitingMax = Math.max(this.#waitingMax, this.#waiting.length)
    return true
  }

  clear(): void {
    this.#waiting = []
  }

  /** Resolves when no task runs or waits. */
  async idle(): Promise<void> {
    if (this.#busy > 0) await new Promise<void>((resolve) => (this.#whenIdle = resolve))
  }

  #run(task: Task): void {
    this.#busy += 1
    void task().then(() => {
      this.#busy -= 1
      const next = this.#waiting.shift()
      if (next !== undefined) this.#run(next)
      else if (this.#busy === 0) this.#whenIdle?.()
    })
  }
}
