import { createHash } from 'node:crypto'

/** As many are remembered at least, and twice as many at most: the older half is forgotten at once. */
const IDS_MIN = 100_000

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
 * Finds the deliveries that repeat one of this run (DECISIONS.md#repeated-deliveries). The same update_id with other
 * bytes is another delivery.
 */
export class Duplicates<Answer> {
  #newer = new Map<string, Seen<Answer>[]>()
  #older: ReadonlyMap<string, Seen<Answer>[]> = new Map()
  readonly #idsMin: number

  constructor(idsMin = IDS_MIN) {
    this.#idsMin = idsMin
  }

  admit(updateId: string, body: Uint8Array): Admission<Answer> {
    // 128 bits of it, one byte a character: this is kept for every id.
    const digest = createHash('sha256').update(body).digest().toString('latin1', 0, 16)
    const bodies = this.#newer.get(updateId) ?? this.#older.get(updateId)
    const known = bodies?.find((it) => it.digest === digest)
    if (known?.state === 'answered') return { kind: 'answered' }
    if (known !== undefined && known.state !== 'failed') return { kind: 'shared', answer: known.state }
    const idReused = bodies?.some((it) => it.digest !== digest) ?? false
    const seen: Seen<Answer> = known ?? { digest, state: 'failed' }
    if (bodies === undefined) this.#remember(updateId, [seen])
    else if (known === undefined) bodies.push(seen)
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

  #remember(updateId: string, bodies: Seen<Answer>[]): void {
    if (this.#newer.size >= this.#idsMin) {
      this.#older = this.#newer
      this.#newer = new Map()
    }
    this.#newer.set(updateId, bodies)
  }
}
