import { createHmac, randomBytes } from 'node:crypto'
import { hasCheckSymbol, readRedeemCode } from '../../contract/credential-symbols.js'
import { HIDDEN } from '../../contract/platform/activity.js'

/** Maximum number of secrets with a name, about 150 bytes each; the oldest loses its name. */
const NAMED_MAX = 10_000

/** Names for secrets, such as `[hidden 3]`. A name is a number, so that no reader can derive the secret. */
export class SecretNumbers {
  readonly #key = randomBytes(32)
  readonly #numbers = new Map<string, number>()
  #last = 0

  /** Returns the same name for the same secret, however it is written. */
  nameOf(secret: string): string {
    const hash = createHmac('sha256', this.#key).update(plainForm(secret)).digest('base64')
    const number = this.#numbers.get(hash) ?? ++this.#last
    this.#numbers.delete(hash)
    this.#numbers.set(hash, number)
    const [oldest] = this.#numbers.keys()
    if (this.#numbers.size > NAMED_MAX && oldest !== undefined) this.#numbers.delete(oldest)
    return HIDDEN.replace(']', ` ${number}]`)
  }

  /** Forgets all secrets; their numbers are not used again. */
  clear(): void {
    this.#numbers.clear()
  }
}

/** The symbols of a code, or a text without percent escapes and surrounding space. */
function plainForm(secret: string): string {
  const text = secret.replace(/%(?:2d|5f|20|2e)/gi, decodeURIComponent).trim()
  const symbols = readRedeemCode(text)
  return symbols !== null && hasCheckSymbol(symbols) ? symbols : text
}
