import { createHash } from 'node:crypto'

/** Pseudorandom numbers from a seed, so that a campaign with the same seed makes the same choices. */
export class Random {
  #drawn = 0
  constructor(readonly seed: string) {}

  /** Returns an integer from 0 to `end` exclusive; `end` is at most 2^32. */
  below(end: number): number {
    const block = createHash('sha256')
      .update(`${this.seed} ${this.#drawn++}`)
      .digest()
    return Math.floor((block.readUInt32BE(0) / 2 ** 32) * end)
  }

  between(first: number, last: number): number {
    return first + this.below(last - first + 1)
  }

  chance(share: number): boolean {
    return this.below(1_000_000) < share * 1_000_000
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)] as T
  }

  /** Returns an independent generator, so that concurrent clients do not consume each other's numbers. */
  of(name: string): Random {
    return new Random(`${this.seed} ${name}`)
  }
}
