import { redact } from '../../../host/secrets.js'

/** Members of answers that hold a secret; `value` is that of a voucher's credential. */
const SECRET_MEMBER = /token$|secret|^jwt$|^value$/i
/** Shorter texts would be found everywhere. */
const LENGTH_MIN = 8

/** Secrets that came by while a scenario ran: no report shows them. */
export class Secrets {
  readonly #known = new Set<string>()

  add(secret: string): void {
    if (secret.length >= LENGTH_MIN) this.#known.add(secret)
  }

  addFrom(value: unknown, name = ''): void {
    if (typeof value === 'string') {
      if (SECRET_MEMBER.test(name)) this.add(value)
    } else if (typeof value === 'object' && value !== null) {
      for (const [member, it] of Object.entries(value)) this.addFrom(it, Array.isArray(value) ? name : member)
    }
  }

  hide(text: string): string {
    let shown = text
    for (const secret of this.#known) shown = shown.replaceAll(secret, redact(secret))
    return shown
  }
}
