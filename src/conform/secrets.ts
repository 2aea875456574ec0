import { KNOWN_LENGTH_MIN, partsOf, SecretNames, secretMembers } from '../contract/secrets.js'
import type { ShellPart } from '../values/shell-word.js'

/** Shell variables for members with secret values, in any request or response. */
const memberVariables = new Map([
  ['token', 'TOKEN'],
  ['one_time_token', 'BOT_TOKEN'],
  ['jwt', 'JWT'],
  ['secret_token', 'WEBHOOK_SECRET'],
  ['one_time_secret_token', 'WEBHOOK_SECRET'],
  ['salt', 'SESSION_SALT'],
])

/** Shell variables for the user's credentials. */
const credentialVariables = { token: 'VOUCHERCTL_TOKEN', bot: 'VOUCHERCTL_BOT_TOKEN', jwt: 'VOUCHERCTL_JWT' }

/** Secrets of a run, by value. In all texts that leave the run, shell variables replace them. */
export class Secrets {
  readonly #names = new SecretNames()
  readonly #parts = new Set<string>()
  readonly #owners = new Map<string, string>()

  /**
   * @param name gets a number if it is taken
   * @param owner id of the record with this secret
   */
  add(name: string, value: string, owner?: string): void {
    if (value.length < KNOWN_LENGTH_MIN || this.#names.has(value)) return
    const variable = this.#names.add(name, value)
    if (owner !== undefined) this.#owners.set(variable, owner)
    // The run derives its webhook secrets from object names, which are not secret.
    if (name === 'WEBHOOK_SECRET') return
    // The header of a JWT is not secret, and other JWTs have the same one.
    const own = value.split('.').length === 3 ? value.slice(value.indexOf('.')) : value
    for (const part of partsOf(own)) this.#parts.add(part)
  }

  addCredentials(credentials: Readonly<Partial<Record<keyof typeof credentialVariables, string>>>): void {
    for (const kind of ['token', 'bot', 'jwt'] as const) {
      const value = credentials[kind]
      if (value !== undefined) this.add(credentialVariables[kind], value)
    }
  }

  /** Adds the secrets in a JSON value: credentials of vouchers, and members that hold tokens or secrets. */
  addFrom(json: unknown, parent?: string): void {
    if (Array.isArray(json)) for (const item of json) this.addFrom(item, parent)
    if (typeof json !== 'object' || json === null) return
    const members = json as Readonly<Record<string, unknown>>
    const id = members.id ?? members.bot_id
    const owner = typeof id === 'string' ? id : parent
    if (typeof members.value === 'string' && typeof members.type === 'string') {
      this.add(members.type === 'qr_token' ? 'QR_TOKEN' : 'CODE', members.value, owner)
    }
    for (const [member, value] of Object.entries(members)) {
      const name = memberVariables.get(member) ?? (secretMembers.ofOthers.test(member) ? 'SECRET' : undefined)
      if (name !== undefined && typeof value === 'string') this.add(name, value, owner)
      else this.addFrom(value, owner)
    }
  }

  /** Secrets in a text that belong to records of the run: ids of the records by variable name. */
  ownersIn(text: string): Readonly<Record<string, string>> {
    const names = Array.from(text.matchAll(/\$\{([A-Z_0-9]+)\}/g), ([, name = '']) => name)
    return Object.fromEntries(
      names.flatMap((name) => {
        const owner = this.#owners.get(name)
        return owner === undefined ? [] : [[name, this.hide(owner)]]
      }),
    )
  }

  /** Returns the text with `${NAME}` in place of each secret. */
  hide(text: string): string {
    return this.split(text)
      .map((part) => (typeof part === 'string' ? part : `\${${part.variable}}`))
      .join('')
  }

  /** Splits a text into secrets (by variable name) and the parts between them. */
  split(text: string): readonly ShellPart[] {
    return this.#names.split(text)
  }

  /**
   * True if the text has part of a credential in any spelling: probes change codes and tokens to test how the platform
   * reads them.
   */
  hasPart(text: string): boolean {
    for (const part of partsOf(text.replace(/\$\{[^{}]*\}/g, ''))) if (this.#parts.has(part)) return true
    return false
  }
}
