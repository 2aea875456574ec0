import { createHash } from 'node:crypto'

/** Remember at least this many update ids; at twice as many, forget the older half. */
const IDS_MIN = 100_000

/** A delivery to forward. Call `settle` once with the application's response. */
export interface FirstDelivery<Response> {
  readonly kind: 'first'
  /** True if an earlier delivery in this run had the same update_id and another body. */
  readonly idReused: boolean
  settle(response: Response, isDone: boolean): void
}

export type Admission<Response> =
  | FirstDelivery<Response>
  | { readonly kind: 'in_flight'; readonly response: Promise<Response> }
  | { readonly kind: 'done' }

/** A body that was delivered with an update_id, and the result of that delivery. */
interface KnownBody<Response> {
  readonly digest: string
  state: 'done' | 'failed' | Promise<Response>
}

/**
 * Detects deliveries that repeat an earlier delivery of this run (rules/workbench.md#repeated-deliveries). Another body
 * with the same update_id is not a repeat.
 */
export class Duplicates<Response> {
  #newer = new Map<string, KnownBody<Response>[]>()
  #older: ReadonlyMap<string, KnownBody<Response>[]> = new Map()
  readonly #idsMin: number

  constructor(idsMin = IDS_MIN) {
    this.#idsMin = idsMin
  }

  admit(updateId: string, body: Uint8Array): Admission<Response> {
    // Store 128 bits of each digest, one byte per character: a string takes less memory than a buffer.
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
