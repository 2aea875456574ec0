import { createHash } from 'node:crypto'

/** About 50 MB at most. The oldest ids are forgotten first. */
const IDS_MAX = 250_000

/** A delivery that goes to the application; `settle` says how that ended, once. */
export interface Admitted<Answer> {
  readonly kind: 'first'
  /** The same update_id came before with other bytes. */
  readonly idReused: boolean
  settle(answer: Answer, isDone: boolean): void
}

export type Admission<Answer> =
  | Admitted<Answer>
  | { readonly kind: 'shared'; readonly answer: Promise<Answer> }
  | { readonly kind: 'answered' }

/** One body of an update_id. */
interface Seen<Answer> {
  readonly digest: string
  state: 'answered' | 'failed' | Promise<Answer>
}

/**
 * Which deliveries of this run are repeats (cli.md, webhook listen): answered 2xx before, not again; on its way, it
 * shares that answer; failed, it goes again. The same update_id with other bytes is another delivery.
 */
export class Duplicates<Answer> {
  readonly #seen = new Map<string, Seen<Answer>[]>()
  readonly #idsMax: number

  constructor(idsMax = IDS_MAX) {
    this.#idsMax = idsMax
  }

  admit(updateId: string, body: Uint8Array): Admission<Answer> {
    const digest = createHash('sha256').update(body).digest('base64')
    const bodies = this.#seen.get(updateId) ?? this.#remember(updateId)
    const known = bodies.find((it) => it.digest === digest)
    if (known?.state === 'answered') return { kind: 'answered' }
    if (known !== undefined && known.state !== 'failed') return { kind: 'shared', answer: known.state }
    const idReused = bodies.some((it) => it.digest !== digest)
    const seen: Seen<Answer> = known ?? { digest, state: 'failed' }
    if (known === undefined) bodies.push(seen)
    let tell!: (answer: Answer) => void
    seen.state = new Promise((resolve) => (tell = resolve))
    return {
      kind: 'first',
      idReused,
      settle: (answer, isDone) => {
        seen.state = isDone ? 'answered' : 'failed'
        tell(answer)
      },
    }
  }

  #remember(updateId: string): Seen<Answer>[] {
    const bodies: Seen<Answer>[] = []
    this.#seen.set(updateId, bodies)
    if (this.#seen.size > this.#idsMax) {
      const [oldest] = this.#seen.keys()
      if (oldest !== undefined) this.#seen.delete(oldest)
    }
    return bodies
  }
}
