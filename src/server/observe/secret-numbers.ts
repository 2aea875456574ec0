import { createHmac, randomBytes } from 'node:crypto'
import { hasCheckSymbol, readRedeemCode } from '../../contract/credential-symbols.js'
import { HIDDEN } from '../../contract/platform/activity.js'

/** After this many secrets (about 150 bytes each), those that were not used since get a new number. */
const NAMED_MAX = 5_000

/** Names for secrets, such as `[hidden 3]`. A name is a number, so that no reader can derive the secret. */
export class SecretNumbers {
  readonly #key = randomBytes(32)
  #numbers = new Map<string, number>()
  /** The previous, full map. A single map would need time for each deleted entry before the oldest one. */
  #older: ReadonlyMap<string, number> = new Map()
  #last = 0

  /** Returns the same name for the same secret, however it is written. */
  nameOf(secret: string): string {
    const hash = createHmac('sha256', this.#key).update(plainForm(secret)).digest('base64')
    const number = this.#numbers.get(hash) ?? this.#older.get(hash) ?? ++this.#last
    if (this.#numbers.size >= NAMED_MAX) [this.#older, this.#numbers] = [this.#numbers, new Map()]
    this.#numbers.set(hash, number)
    return HIDDEN.replace(']', ` ${number}]`)
  }

  /** Forgets all secrets; their numbers are not used again. */
  clear(): void {
    this.#numbers = new Map()
    this.#older = new Map()
  }
}

/** The symbols of a code, or a text without percent escapes and surrounding space. */
function plainForm(secret: string): string {
  const text = secret.replace(/%(?:2d|5f|20|2e)/gi, decodeURIComponent).trim()
  const symbols = readRedeemCode(text)
  return symbols !== null && hasCheckSymbol(symbols) ? symbols : text
}
