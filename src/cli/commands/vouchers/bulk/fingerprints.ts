/**
 * A set of fingerprints, each with a number of its own, in 12 bytes an element and at most 2.7 times that: a Set of the
 * texts takes some 150 bytes each. A fingerprint is the first 64 bits of a SHA-256; that two of a million texts share
 * one happens once in 37 million inputs.
 */
export class Fingerprints {
  #size = 0
  #slots = new Uint32Array(3 * 1024)

  get size(): number {
    return this.#size
  }

  /** The number that was kept with a fingerprint, or undefined. */
  find(digest: Buffer): number | undefined {
    const at = this.#slotOf(digest.readUInt32LE(0), digest.readUInt32LE(4))
    return this.#slots[at + 2] === 0 ? undefined : (this.#slots[at + 2] as number)
  }

  /** Keeps it, unless it is there. @param number from 1 @returns the number that was there before, or undefined */
  add(digest: Buffer, number: number): number | undefined {
    if (this.#size * 2 >= this.#slots.length / 3) this.#grow()
    const [high, low] = [digest.readUInt32LE(0), digest.readUInt32LE(4)]
    const at = this.#slotOf(high, low)
    if (this.#slots[at + 2] !== 0) return this.#slots[at + 2]
    this.#put(at, high, low, number)
    this.#size += 1
    return undefined
  }

  /** Where it lies, or the free slot where it belongs: a slot with the number 0 is free. */
  #slotOf(high: number, low: number): number {
    const count = this.#slots.length / 3
    let slot = high & (count - 1)
    for (;;) {
      const at = slot * 3
      if (this.#slots[at + 2] === 0 || (this.#slots[at] === high && this.#slots[at + 1] === low)) return at
      slot = (slot + 1) & (count - 1)
    }
  }

  #put(at: number, high: number, low: number, number: number): void {
    this.#slots[at] = high
    this.#slots[at + 1] = low
    this.#slots[at + 2] = number
  }

  #grow(): void {
    const old = this.#slots
    this.#slots = new Uint32Array(old.length * 2)
    for (let i = 0; i < old.length; i += 3) {
      const [high, low, number] = [old[i] as number, old[i + 1] as number, old[i + 2] as number]
      if (number !== 0) this.#put(this.#slotOf(high, low), high, low, number)
    }
  }
}
