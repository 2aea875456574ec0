import type { Credential } from '../../../contract/vouchers.js'

/** Vouchers among which verify picks. */
const VERIFIED_MAX = 10_000

/** Vouchers that a run has issued, for its verify and redeem calls. */
export class VoucherPool {
  readonly #keepsUnredeemed: boolean
  readonly #random: () => number
  readonly #unredeemed: Credential[] = []
  readonly #recent: Credential[] = []
  #added = 0

  /** @param keepsUnredeemed false for a run that redeems nothing @param random returns numbers from 0 to below 1 */
  constructor(keepsUnredeemed: boolean, random: () => number) {
    this.#keepsUnredeemed = keepsUnredeemed
    this.#random = random
  }

  add(credential: Credential): void {
    if (this.#keepsUnredeemed) this.#unredeemed.push(credential)
    this.#recent[this.#added % VERIFIED_MAX] = credential
    this.#added += 1
  }

  /** Takes a voucher that no call has redeemed; undefined if there is none. */
  takeUnredeemed(): Credential | undefined {
    return this.#unredeemed.pop()
  }

  /** Returns a voucher that was certainly not redeemed. */
  giveBack(credential: Credential): void {
    this.#unredeemed.push(credential)
  }

  /** A random one of the vouchers that were issued last, redeemed or not; undefined if there is none. */
  pick(): Credential | undefined {
    return this.#recent[Math.floor(this.#random() * this.#recent.length)]
  }
}
