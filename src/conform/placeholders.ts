import { asMembers } from '../secure/json.js'

/**
 * Placeholders of a recording: `${NAME}` for a secret, an object of the user or the run; `${WEBHOOK_SECRET:aaa-99}`
 * where a request names a new secret, with its form; `${12#/data/id}` for a value of the response to exchange 12, by
 * JSON pointer, and `${12#/data/items/0/update_id+1}` for the number after it.
 */
const placeholder = /\$\{(?:([A-Z][A-Z_0-9]*)(?::([\w-]*))?|(\d+)#([^{}+]*)(\+1)?)\}/g

export interface Placeholder {
  /** As in the recording. */
  readonly text: string
  readonly name: string | undefined
  /** Form of a new secret, for `secretOf`. */
  readonly form: string | undefined
  /** Number of the exchange whose response has the value. */
  readonly exchange: number
  readonly pointer: string
  readonly next: boolean
}

/** Returns the text with `fill` of each placeholder in its place. */
export function fillPlaceholders(text: string, fill: (it: Placeholder) => string): string {
  return text.replace(placeholder, (text, name, form, exchange, pointer, next) =>
    fill({ text, name, form, exchange: Number(exchange), pointer: pointer ?? '', next: next !== undefined }),
  )
}

export const placeholdersOf = (text: string): Placeholder[] => {
  const found: Placeholder[] = []
  fillPlaceholders(text, (it) => {
    found.push(it)
    return it.text
  })
  return found
}

export const pointerTo = (parent: string, member: string | number) =>
  `${parent}/${String(member).replaceAll('~', '~0').replaceAll('/', '~1')}`

/** The value at a JSON pointer; undefined if there is none. */
export function valueAt(json: unknown, pointer: string): unknown {
  const names = pointer.split('/').slice(1)
  return names.reduce((value: unknown, name) => {
    const member = name.replaceAll('~1', '/').replaceAll('~0', '~')
    const members = Array.isArray(value) ? { ...value } : asMembers(value)
    return members !== undefined && Object.hasOwn(members, member) ? members[member as keyof typeof members] : undefined
  }, json)
}

/** Calls `visit` with each text and number in a JSON value, the pointer to it and the name of its member. */
export function visitScalars(
  json: unknown,
  visit: (value: string | number, pointer: string, member: string) => void,
  pointer = '',
  member = '',
): void {
  if (typeof json === 'string' || typeof json === 'number') visit(json, pointer, member)
  if (typeof json !== 'object' || json === null) return
  for (const [name, value] of Object.entries(json)) visitScalars(value, visit, pointerTo(pointer, name), name)
}

/** Form of a secret: each letter as `a` or `A`, each digit as `9`. */
export const formOf = (secret: string) => secret.replace(/[a-z]/g, 'a').replace(/[A-Z]/g, 'A').replace(/\d/g, '9')

const alphabets = { a: 'abcdefghijklmnopqrstuvwxyz', A: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 9: '0123456789' }

/** A secret of that form. @param random returns an integer from 0 up to a limit, without it */
export const secretOf = (form: string, random: (limit: number) => number) =>
  form.replace(/[aA9]/g, (kind) => {
    const alphabet = alphabets[kind as keyof typeof alphabets]
    return alphabet.charAt(random(alphabet.length))
  })
