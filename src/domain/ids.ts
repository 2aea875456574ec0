import { ALPHABET } from '../contract/credential-symbols.js'

/** Returns `size` bytes from a cryptographic source. */
export type RandomBytes = (size: number) => Uint8Array

/** Kinds of ids (rules/calls.md#ids). */
export type IdPrefix = 'app' | 'tok' | 'tpl' | 'vch' | 'rdm' | 'bot' | 'dlv' | 'chat' | 'req' | 'flt'

const TIME_SYMBOLS = 10
const RANDOM_BYTES = 10
const RANDOM_SYMBOLS = 16

/**
 * Makes an id such as `vch_` and a ULID: 48 bits of `nowMs`, then 80 random bits. Ids sort by time, in milliseconds.
 * @throws RangeError when `nowMs` does not fit 48 bits.
 */
export function newId(prefix: IdPrefix, nowMs: number, random: RandomBytes): string {
  return `${prefix}_${timeSymbols(nowMs)}${encodeBits(random(RANDOM_BYTES), RANDOM_SYMBOLS)}`
}

/** Returns the common start of ids that sorts before all ids made at `ms` or later. */
export const idsSince = (prefix: IdPrefix, ms: number): string => `${prefix}_${timeSymbols(ms)}`

/** Cache of the last timestamp: a busy server makes many ids per millisecond. */
let lastMs = Number.NaN
let lastSymbols = ''

function timeSymbols(nowMs: number): string {
  if (nowMs === lastMs) return lastSymbols
  if (!(nowMs >= 0 && nowMs < 2 ** 48)) throw new RangeError(`"nowMs" must fit 48 bits, got ${nowMs}`)
  let time = ''
  // Bitwise operators work on 32 bits, so split the timestamp into two halves of 25 bits.
  let low = nowMs % 2 ** 25
  let high = Math.floor(nowMs / 2 ** 25)
  for (let i = 0; i < TIME_SYMBOLS / 2; i++, low >>>= 5) time = ALPHABET[low & 31] + time
  for (let i = 0; i < TIME_SYMBOLS / 2; i++, high >>>= 5) time = ALPHABET[high & 31] + time
  lastMs = nowMs
  lastSymbols = time
  return time
}

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
