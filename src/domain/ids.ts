import { ALPHABET } from '../contract/credential-symbols.js'
import { encodeBits } from './crockford.js'

/** Returns `size` bytes from a cryptographic source. */
export type RandomBytes = (size: number) => Uint8Array

/** Kinds of ids (DECISIONS.md#ids). */
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

/** The text from which ids of a kind begin that are made at `ms` or later. */
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
