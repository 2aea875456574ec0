/** Crockford's base 32 without I, L, O and U: the alphabet of ids (ULID) and of credentials (decisions.md 4). */
export const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** The first `count` symbols of `bytes`, five bits each from the front. @throws RangeError when it holds fewer bits. */
export function encodeBits(bytes: Uint8Array, count: number): string {
  if (bytes.length * 8 < count * 5) throw new RangeError(`${count} symbols need more than ${bytes.length} bytes`)
  let text = ''
  let held = 0
  let heldBits = 0
  let next = 0
  for (let i = 0; i < count; i++) {
    if (heldBits < 5) {
      held = ((held & 31) << 8) | (bytes[next++] as number)
      heldBits += 8
    }
    heldBits -= 5
    text += ALPHABET[(held >> heldBits) & 31]
  }
  return text
}
