import { HIDDEN } from '../contract/platform/activity.js'
import type { Schema } from '../contract/schema.js'
import { byEncoding, KNOWN_LENGTH_MIN, replaceSecretForms } from '../contract/secrets.js'
import { mapTexts } from '../values/json.js'

/** Keywords of a schema that decide which values are shown. */
interface Keywords {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | Schema
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly 'x-secret'?: boolean
}

/** Hide longer texts, which V8 searches in quadratic time, and texts with the start of a longer secret. */
const SEARCHED_LENGTH_MAX = 200
/** Limits of the search for secrets in one exchange, which takes about 5 ms; beyond them all texts are hidden. */
const SECRETS_MAX = 1_000
const SEARCHED_CHARACTERS_MAX = 2 * 1024 * 1024

/** True for a word such as `recipient_user_id`: random text has digits. */
export const isWord = (text: string) => /^[A-Za-z][A-Za-z._-]{0,63}$/.test(text)

/** True if a schema marks a member as a secret. */
export function hasSecret(schema: Schema | undefined): boolean {
  return schema !== undefined && JSON.stringify(schema).includes('"x-secret"')
}

/** Hides the secrets of one exchange and, if they recur, their copies (rules/operator.md#secrets-of-exchanges). */
export class Masking {
  readonly #secrets = new Set<string>()
  /** Encodings of each secret with the secret, longest first. */
  #forms: ReturnType<typeof byEncoding> | undefined
  #searched = 0
  readonly #nameOf: (secret: string) => string

  /** @param nameOf returns the text that replaces a secret */
  constructor(nameOf: (secret: string) => string = () => HIDDEN) {
    let named = 0
    this.#nameOf = (secret) => (++named > SECRETS_MAX ? HIDDEN : nameOf(secret))
  }

  /** Marks a secret to be removed from every text of the exchange. */
  remember(secret: string): void {
    if (secret.length >= KNOWN_LENGTH_MIN && this.#secrets.size <= SECRETS_MAX) this.#secrets.add(secret)
  }

  /** Replaces a value and remembers the texts in it. */
  hide(value: unknown): string {
    if (typeof value === 'string') {
      this.remember(value)
      return this.#nameOf(value)
    }
    if (typeof value === 'object' && value !== null)
      for (const it of Object.values(value)) void (typeof it === 'string' ? this.remember(it) : this.hide(it))
    return HIDDEN
  }

  /** Replaces texts that have the form of a secret, or of the name of one. */
  hideForms = (text: string): string =>
    replaceSecretForms(text.replace(/\[hidden(?: [^\]]{1,80})?\]/g, this.#nameOf), this.#nameOf, this.#nameOf)

  /** Returns a JSON value without marked secrets and without values that no schema describes. */
  show(value: unknown, schemas: readonly Schema[]): unknown {
    return this.#show(value, schemas.flatMap(rulesOf))
  }

  #show(value: unknown, rules: readonly Rule[]): unknown {
    if (value === null || typeof value === 'boolean') return value
    const fitting = rules.length === 1 && fits(value, rules[0] as Rule) ? rules : rules.filter((it) => fits(value, it))
    if (fitting.length === 0 || rules.some((it) => it.isSecret)) return this.hide(value)
    if (typeof value === 'string') return this.hideForms(value)
    if (typeof value !== 'object') return value
    if (Array.isArray(value)) {
      const items = fitting.flatMap((it) => it.items())
      return value.map((it) => this.#show(it, items))
    }
    const shown: Record<string, unknown> = Object.create(null)
    for (const name of Object.keys(value)) this.#showMember(shown, name, (value as Members)[name], fitting)
    return shown
  }

  /** Removes the remembered secrets from a text; null if the text must be hidden as a whole. Call this last. */
  finish(text: string): string | null {
    if (this.#secrets.size > SECRETS_MAX) return null
    this.#forms ??= byEncoding(this.#secrets)
    this.#searched += this.#forms.length * text.length
    if (this.#searched > SEARCHED_CHARACTERS_MAX) return null
    let shown = text
    for (const [encoding, secret] of this.#forms) {
      const isLong = encoding.length > SEARCHED_LENGTH_MAX
      if (!shown.includes(isLong ? encoding.slice(0, SEARCHED_LENGTH_MAX) : encoding)) continue
      if (isLong) return null
      shown = shown.replaceAll(encoding, this.#nameOf(secret))
    }
    return shown
  }

  #showMember(to: Members, name: string, member: unknown, rules: readonly Rule[]): void {
    const [only, ...more] = rules as [Rule, ...Rule[]]
    const own = more.length === 0 ? only.member(name) : rules.flatMap((it) => it.member(name))
    if (own.length > 0) to[name] = this.#show(member, own)
    else if (rules.some((it) => it.others().length > 0)) {
      to[this.hideForms(name)] = this.#show(
        member,
        rules.flatMap((it) => it.others()),
      )
    } else if (rules.some((it) => it.isOpen)) to[this.hideForms(name)] = mapTexts(member, this.hideForms)
    else to[isWord(name) ? this.hideForms(name) : this.hide(name)] = this.hide(member)
  }
}

type Members = Record<string, unknown>

/** Masking rule of one schema alternative; rules of members are built on first use. */
interface Rule {
  readonly isSecret: boolean
  /** True for an object with arbitrary members. */
  readonly isOpen: boolean
  /** Permitted types, named as by `typeof` and isArray; undefined for any type. */
  readonly types: readonly string[] | undefined
  /** Permitted values; undefined for any value of the types. */
  readonly values: readonly unknown[] | undefined
  member(name: string): readonly Rule[]
  others(): readonly Rule[]
  items(): readonly Rule[]
}

const none: readonly Rule[] = []
const rules = new WeakMap<object, readonly Rule[]>()

/** Returns a rule for each alternative of a schema. */
function rulesOf(schema: Schema): readonly Rule[] {
  const known = rules.get(schema)
  if (known !== undefined) return known
  const { anyOf } = schema as Keywords
  const made = anyOf === undefined ? [ruleOf(schema as Keywords)] : anyOf.flatMap(rulesOf)
  rules.set(schema, made)
  return made
}

function ruleOf(keywords: Keywords): Rule {
  const { properties = {}, additionalProperties: others, items } = keywords
  const members = new Map(Object.entries(properties))
  const rulesOfPart = (part: unknown) => (typeof part === 'object' && part !== null ? rulesOf(part) : none)
  return {
    isSecret: keywords['x-secret'] === true,
    isOpen: others === true,
    types:
      keywords.type === undefined
        ? undefined
        : [keywords.type].flat().map((type) => (type === 'integer' ? 'number' : type)),
    values: keywords.const === undefined ? keywords.enum : [keywords.const],
    member: (name) => rulesOfPart(members.get(name)),
    others: () => rulesOfPart(others),
    items: () => rulesOfPart(items),
  }
}

/** True if a rule permits the type and the value. */
function fits(value: unknown, { types, values }: Rule): boolean {
  if (values !== undefined && !values.includes(value)) return false
  return types === undefined || types.includes(Array.isArray(value) ? 'array' : typeof value)
}
