/** Members whose values are secrets, wherever a response or request has them. */
const secretMembers = new Map([
  ['token', 'TOKEN'],
  ['one_time_token', 'BOT_TOKEN'],
  ['jwt', 'JWT'],
  ['secret_token', 'WEBHOOK_SECRET'],
  ['one_time_secret_token', 'WEBHOOK_SECRET'],
  ['salt', 'SESSION_SALT'],
])

/** Names that other platforms may give to members with secrets. */
const SECRET_NAME = /(?:token|secret)$|^(?:redeem|voucher|qr)_?(?:code|data)$/i

/** Names of the credentials that the user offers, as shell variables. */
const credentialNames = {
  token: 'VOUCHERCTL_TOKEN',
  bot: 'VOUCHERCTL_BOT_TOKEN',
  jwt: 'VOUCHERCTL_JWT',
} as const

const LENGTH_MIN = 8

/** Letters and digits in a row that make a part of a secret. */
const PART_LENGTH = 8
/** Without separators, case, width, and the letters that a platform may read as digits. */
const foldedOf = (text: string) =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '')
    .replaceAll('o', '0')
    .replace(/[il]/g, '1')

/** A part of a text: text without secrets, or the name of a secret. */
export interface TextPart {
  readonly text: string
  readonly isName: boolean
}

/** Splits a text at each occurrence of a secret, which its name replaces. */
const splitAt = (text: string, value: string, name: string): readonly TextPart[] =>
  text
    .split(value)
    .flatMap((part, at) => [...(at === 0 ? [] : [{ text: name, isName: true }]), { text: part, isName: false }])

/** Secrets of a run by value. Texts that leave the run have the names in their place, as variables of a shell. */
export class Secrets {
  readonly #names = new Map<string, string>()
  readonly #parts = new Set<string>()
  readonly #owners = new Map<string, string>()

  /**
   * @param name one that is taken gets a number
   * @param owner id of the record that the secret belongs to
   */
  add(name: string, value: string, owner?: string): void {
    if (value.length < LENGTH_MIN || this.#names.has(value)) return
    const taken = new Set(this.#names.values())
    let free = name
    for (let n = 2; taken.has(free); n += 1) free = `${name}_${n}`
    this.#names.set(value, free)
    if (owner !== undefined) this.#owners.set(free, owner)
    // The run makes its webhook secrets of the names of its objects.
    if (name !== 'WEBHOOK_SECRET') this.#addParts(value)
  }

  addCredentials(credentials: Readonly<Partial<Record<keyof typeof credentialNames, string>>>): void {
    for (const kind of ['token', 'bot', 'jwt'] as const) {
      const value = credentials[kind]
      if (value !== undefined) this.add(credentialNames[kind], value)
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
      const name = secretMembers.get(member) ?? (SECRET_NAME.test(member) ? 'SECRET' : undefined)
      if (name !== undefined && typeof value === 'string') this.add(name, value, owner)
      else this.addFrom(value, owner)
    }
  }

  /** The secrets of records of the run whose names a text has: ids of the records by name. */
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
      .map((part) => (part.isName ? `\${${part.text}}` : part.text))
      .join('')
  }

  /** Splits a text into secrets, by their names, and the parts between them. */
  split(text: string): readonly TextPart[] {
    let parts: readonly TextPart[] = [{ text, isName: false }]
    for (const [value, name] of this.#longestFirst()) {
      parts = parts.flatMap((part) => (part.isName ? [part] : splitAt(part.text, value, name)))
    }
    return parts.filter((part) => part.text !== '')
  }

  /**
   * True if the text has a part of a credential of the user or the platform, in any form: probes change codes and
   * tokens to observe how the platform reads them.
   */
  hasPart(text: string): boolean {
    const folded = foldedOf(text.replace(/\$\{[^{}]*\}/g, ''))
    for (let at = 0; at + PART_LENGTH <= folded.length; at += 1) {
      if (this.#parts.has(folded.slice(at, at + PART_LENGTH))) return true
    }
    return false
  }

  #addParts(value: string): void {
    // The header of a JWT is no secret, and others have it too.
    const folded = foldedOf(value.split('.').length === 3 ? value.slice(value.indexOf('.')) : value)
    for (let at = 0; at + PART_LENGTH <= folded.length; at += 1) this.#parts.add(folded.slice(at, at + PART_LENGTH))
  }

  /** Longest first: a secret may contain another one. */
  #longestFirst(): [string, string][] {
    return [...this.#names].sort(([a], [b]) => b.length - a.length)
  }
}
