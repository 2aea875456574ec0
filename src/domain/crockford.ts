import { ALPHABET } from '../contract/credential-symbols.js'

const PAIRS = Array.from({ length: 1024 }, (_, bits) => (ALPHABET[bits >> 5] as string) + ALPHABET[bits & 31])

/** Encodes `count` symbols, each from the next five bits. @throws RangeError when `bytes` is too short. */
export function encodeBits(bytes: Uint8Array, count: number): string {
  if (bytes.length * 8 < count * 5) throw new RangeError(`${count} symbols need more than ${bytes.length} bytes`)
  let text = ''
  let held = 0
  let heldBits = 0
  let next = 0
  // Two symbols per step, because string concatenation dominates the cost.
  for (let left = count; left > 0; left -= 2) {
    const wanted = left === 1 ? 5 : 10
    while (heldBits < wanted) {
      held = ((held & 1023) << 8) | (bytes[next++] as number)
      heldBits += 8
    }
    heldBits -= wanted
    const bits = held >> heldBits
    text += left === 1 ? ALPHABET[bits & 31] : PAIRS[bits & 1023]
  }
  return text
}
