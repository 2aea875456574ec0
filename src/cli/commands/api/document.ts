import { type Failure, usage } from '../../failures/failure.js'
import type { FieldArgument } from './field-arguments.js'

type DocumentMembers = Record<string, unknown>
type DocumentResult = { readonly ok: true; readonly document: DocumentMembers } | Failure

/**
 * Builds a JSON object from fields: `a.b=c` and `a[b]=c` set a nested member, and `a[]=x` appends to a list.
 * `a[][b]=c` sets a member of the last object in a list, or of a new object if the last one already has that member.
 */
export function documentOf(fields: readonly FieldArgument[]): DocumentResult {
  const document = newMembers()
  for (const { name, value } of fields) {
    const steps = stepsOf(name)
    if (steps === undefined) return usage(`${name} is no name of a member.`, 'Such as a, a.b, a[b], a[] or a[][b].')
    if (!put(document, steps, value)) return usage(`${name} does not fit the members before it.`)
  }
  return { ok: true, document }
}

/** Creates an object without a prototype, in which even `__proto__` is an ordinary member name. */
const newMembers = () => Object.create(null) as DocumentMembers

/** Splits a field name into member names; an empty name means the next element of a list. */
function stepsOf(name: string): readonly string[] | undefined {
  const start = /^[^.[\]]+/.exec(name)?.[0]
  if (start === undefined) return undefined
  const rest = name.slice(start.length)
  const parts = rest.match(/\.[^.[\]]+|\[[^[\]]*\]/g) ?? []
  if (parts.join('') !== rest) return undefined
  return [start, ...parts.map((it) => (it.startsWith('.') ? it.slice(1) : it.slice(1, -1)))]
}

/** Sets a value at a path; returns false if the path leads through a value that is not an object or list. */
function put(target: DocumentMembers | unknown[], [step = '', ...rest]: readonly string[], value: unknown): boolean {
  if (Array.isArray(target)) return step === '' && append(target, rest, value)
  if (step === '') return false
  if (rest.length === 0) {
    if (Object.hasOwn(target, step)) return false
    target[step] = value
    return true
  }
  target[step] ??= rest[0] === '' ? [] : newMembers()
  const inner = target[step]
  return (isMembers(inner) || Array.isArray(inner)) && put(inner, rest, value)
}

/** Appends a value to a list, or sets it at a path in the last element or a new one. */
function append(list: unknown[], path: readonly string[], value: unknown): boolean {
  if (path.length === 0) {
    if (value !== undefined) list.push(value)
    return true
  }
  const last = list.at(-1)
  const [next = ''] = path
  const goesOn = isMembers(last) && next !== '' && (path.length > 1 || !Object.hasOwn(last, next))
  if (!goesOn) list.push(next === '' ? [] : newMembers())
  return put(list.at(-1) as DocumentMembers, path, value)
}

const isMembers = (value: unknown): value is DocumentMembers =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
