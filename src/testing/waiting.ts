/** One waiting call. */
interface Waiter {
  readonly subject: string
  look(): void
  fail(error: unknown): void
}

/** Calls of a test that wait for a record, such as an update, until it arrives or their time is over. */
export class Waiting {
  readonly #waiters = new Set<Waiter>()

  /**
   * Resolves to the first result of `take`, now or at a later `look`.
   * @param overdue returns the error for the end of the time
   * @param subject what the call waits for, for `fail`
   */
  wait<T>(ms: number, take: () => T | undefined, overdue: () => Error, subject = ''): Promise<T> {
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timer)
        this.#waiters.delete(waiter)
      }
      const fail = (error: unknown) => {
        end()
        reject(error)
      }
      const look = () => {
        try {
          const found = take()
          if (found === undefined) return
          end()
          resolve(found)
        } catch (error) {
          fail(error)
        }
      }
      const waiter: Waiter = { subject, look, fail }
      const timer = setTimeout(() => fail(overdue()), ms)
      // node:test cancels a test that waits when nothing else keeps the process alive, which would lose the report.
      if (process.env.NODE_TEST_CONTEXT === undefined) timer.unref()
      this.#waiters.add(waiter)
      look()
    })
  }

  /** Lets each call look again, oldest first. */
  look(): void {
    for (const it of this.#waiters) it.look()
  }

  /** Rejects the calls, of one subject or of all. */
  fail(error: Error, subject?: string): void {
    for (const it of this.#waiters) if (subject === undefined || it.subject === subject) it.fail(error)
  }

  subjects(): ReadonlySet<string> {
    return new Set([...this.#waiters].map((it) => it.subject))
  }
}
