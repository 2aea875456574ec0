import { HIDDEN } from '../../contract/activity.js'
import type { Schema } from '../../contract/schema.js'
import { parseCredential } from '../../domain/credentials.js'

/** Keywords of a schema that decide what is shown. */
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

/** Shorter secrets are not searched for in other places: they may equal an ordinary word. */
const SEARCHED_LENGTH_MIN = 8

const TOKEN = /(?:sop|sbot|opk)_[\w-]{16,}|VQ1-[0-9A-Z]{20,}|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?/gi
/** Four groups of four symbols, with what people type between them. */
const CODE =
  /(?<![0-9A-Za-z-])[0-9A-Za-z]{4}(?:[\p{White_Space}\p{Dash}\p{Default_Ignorable_Code_Point}]*[0-9A-Za-z]{4}){3}(?![0-9A-Za-z-])/gu
const ISSUED_CODE = /^[0-9A-Z]{4}(?:-[0-9A-Z]{4}){3}$/

/** Replaces what has the form of a token, a JWT, a redeem code or a QR token. */
export function hideForms(text: string): string {
  if (text.length < 16) return text
  const isCode = (it: string) => ISSUED_CODE.test(it) || parseCredential('redeem_code', it).ok
  return text.replace(TOKEN, HIDDEN).replace(CODE, (it) => (isCode(it) ? HIDDEN : it))
}

/** True for a word such as `recipient_user_id`: random text has digits. */
export const isWord = (text: string) => /^[A-Za-z][A-Za-z._-]{0,63}$/.test(text)

/** True if a schema marks one of its members as a secret. */
export function hasSecret(schema: Schema | undefined): boolean {
  return schema !== undefined && JSON.stringify(schema).includes('"x-secret"')
}

/** Hides the secrets of one exchange (DECISIONS.md#secrets-of-exchanges), and remembers them to find them elsewhere. */
export class Masking {
  readonly #secrets = new Set<string>()

  /** Removes a secret from every text of the exchange. */
  remember(secret: string): void {
    if (secret.length >= SEARCHED_LENGTH_MIN) this.#secrets.add(secret)
  }

  hide(value: unknown): typeof HIDDEN {
    if (typeof value === 'string') this.remember(value)
    else if (typeof value === 'object' && value !== null) Object.values(value).forEach((it) => this.hide(it))
    return HIDDEN
  }

  /** Returns a JSON value without what a schema marks as a secret, and without values that no schema describes. */
  show(value: unknown, schemas: readonly Schema[]): unknown {
    const all = schemas.flatMap(alternatives)
    if (value === null || typeof value === 'boolean') return value
    const fitting = all.filter((it) => fits(value, it))
    if (fitting.length === 0 || all.some((it) => it['x-secret'])) return this.hide(value)
    if (typeof value === 'string') return hideForms(value)
    if (Array.isArray(value)) {
      const items = fitting.flatMap(({ items }) => items ?? [])
      return value.map((it) => this.show(it, items))
    }
    if (typeof value !== 'object') return value
    return Object.fromEntries(Object.entries(value).map(([name, member]) => this.#showMember(name, member, fitting)))
  }

  /** Removes the remembered secrets from a text. */
  finish(text: string): string {
    let shown = text
    for (const secret of this.#secrets) {
      for (const form of new Set([secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)])) {
        shown = shown.replaceAll(form, HIDDEN)
      }
    }
    return shown
  }

  #showMember(name: string, member: unknown, schemas: readonly Keywords[]): [string, unknown] {
    const own = schemas.flatMap(({ properties = {} }) => (Object.hasOwn(properties, name) ? properties[name] : []))
    if (own.length > 0) return [name, this.show(member, own as Schema[])]
    const others = schemas.flatMap(({ additionalProperties: it }) => (typeof it === 'object' ? it : []))
    if (others.length > 0) return [hideForms(name), this.show(member, others)]
    if (schemas.some((it) => it.additionalProperties === true)) return [hideForms(name), showAny(member)]
    return [isWord(name) ? hideForms(name) : this.hide(name), this.hide(member)]
  }
}

/** Shows a value whose members no schema names, without what has the form of a secret. */
function showAny(value: unknown): unknown {
  if (typeof value === 'string') return hideForms(value)
  if (Array.isArray(value)) return value.map(showAny)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [hideForms(name), showAny(member)]))
}

function alternatives(schema: Schema): Keywords[] {
  const keywords = schema as Keywords
  return keywords.anyOf === undefined ? [keywords] : keywords.anyOf.flatMap(alternatives)
}

/** True if a value has the type that a schema requires, and one of its values. */
function fits(value: unknown, { type, enum: values, const: only }: Keywords): boolean {
  if (values !== undefined && !values.includes(value)) return false
  if (only !== undefined && only !== value) return false
  const actual = Array.isArray(value) ? 'array' : typeof value
  return type === undefined || [type].flat().some((it) => it === actual || (it === 'integer' && actual === 'number'))
}
