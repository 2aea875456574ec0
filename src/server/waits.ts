/** Why a wait ended: its time, a release, its client, a reset or restore, or the end of the server. */
export type WaitEnd = 'time' | 'released' | 'gone' | 'suspended' | 'closed'

interface Wait {
  readonly ended: Promise<WaitEnd>
  release(): void
}

/** Waits of calls, which can all be ended at once. */
export class Waits {
  readonly #ends = new Set<(end: WaitEnd) => void>()
  /** Set while no wait may begin. */
  #stopped: WaitEnd | undefined

  /** Begins a wait of `ms`. @param gone ends the wait when the client disconnects */
  begin(ms: number, gone?: AbortSignal): Wait {
    let end: (why: WaitEnd) => void = () => {}
    const ended = new Promise<WaitEnd>((resolve) => {
      const leave = () => end('gone')
      const timer = setTimeout(() => end('time'), ms)
      end = (why) => {
        clearTimeout(timer)
        gone?.removeEventListener('abort', leave)
        this.#ends.delete(end)
        resolve(why)
      }
      this.#ends.add(end)
      gone?.addEventListener('abort', leave)
      if (gone?.aborted) leave()
      if (this.#stopped !== undefined) end(this.#stopped)
    })
    return { ended, release: () => end('released') }
  }

  /** Ends all waits, also those that begin before `resume`. */
  suspend(): void {
    this.#stop('suspended')
  }

  resume(): void {
    if (this.#stopped === 'suspended') this.#stopped = undefined
  }

  /** Ends all waits for good. */
  close(): void {
    this.#stop('closed')
  }

  #stop(why: WaitEnd): void {
    this.#stopped = why
    for (const end of this.#ends) end(why)
  }
}
