import { createHash } from 'node:crypto'

/** Minimum number of remembered ids. At twice as many the older half is dropped. */
const IDS_MIN = 100_000

/** A delivery for the application; `settle` must be called once with the response. */
export interface FirstDelivery<Response> {
  readonly kind: 'first'
  /** True if the same update_id arrived before with other bytes. */
  readonly idReused: boolean
  settle(response: Response, isDone: boolean): void
}

export type Admission<Response> =
  | FirstDelivery<Response>
  | { readonly kind: 'in_flight'; readonly response: Promise<Response> }
  | { readonly kind: 'done' }

/** A body that arrived with an update_id. */
interface KnownBody<Response> {
  readonly digest: string
  state: 'done' | 'failed' | Promise<Response>
}

/**
 * Finds the deliveries that repeat one of this run (DECISIONS.md#repeated-deliveries). The same update_id with other
 * bytes is another delivery.
 */
export class Duplicates<Response> {
  #newer = new Map<string, KnownBody<Response>[]>()
  #older: ReadonlyMap<string, KnownBody<Response>[]> = new Map()
  readonly #idsMin: number

  constructor(idsMin = IDS_MIN) {
    this.#idsMin = idsMin
  }

  admit(updateId: string, body: Uint8Array): Admission<Response> {
    // Keep 128 bits of the digest for each id, one byte a character.
    const digest = createHash('sha256').update(body).digest().toString('latin1', 0, 16)
    const bodies = this.#newer.get(updateId) ?? this.#older.get(updateId)
    const known = bodies?.find((it) => it.digest === digest)
    if (known?.state === 'done') return { kind: 'done' }
    if (known !== undefined && known.state !== 'failed') return { kind: 'in_flight', response: known.state }
    const idReused = bodies?.some((it) => it.digest !== digest) ?? false
    const entry: KnownBody<Response> = known ?? { digest, state: 'failed' }
    if (bodies === undefined) this.#remember(updateId, [entry])
    else if (known === undefined) bodies.push(entry)
    let resolve!: (response: Response) => void
    entry.state = new Promise((resolveResponse) => (resolve = resolveResponse))
    return {
      kind: 'first',
      idReused,
      settle: (response, isDone) => {
        entry.state = isDone ? 'done' : 'failed'
        resolve(response)
      },
    }
  }

  #remember(updateId: string, bodies: KnownBody<Response>[]): void {
    if (this.#newer.size >= this.#idsMin) {
      this.#older = this.#newer
      this.#newer = new Map()
    }
    this.#newer.set(updateId, bodies)
  }
}
