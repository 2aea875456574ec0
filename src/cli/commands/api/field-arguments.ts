import { kindOf } from '../../../contract/secrets.js'
import type { Context } from '../../command/context.js'
import { type Failure, usage } from '../../failures/failure.js'
import { readTextFile } from '../../host/files.js'

/** One `NAME=VALUE` of `-F` or `-f`. */
export interface FieldArgument {
  /** Name as typed, including dots and brackets. */
  readonly name: string
  /** Parsed value; undefined for `name[]` without a value, which means an empty list. */
  readonly value: unknown
  /** Value as text, from the command line or a file. */
  readonly text: string
}

type FieldsResult = { readonly ok: true; readonly fields: readonly FieldArgument[] } | Failure

/** Parses `NAME=VALUE`. With `-F`, numbers, true, false and null become JSON values, and @FILE reads a file. */
export async function readFields(
  context: Pick<Context, 'host' | 'globals'>,
  typed: readonly string[],
  raw: readonly string[],
): Promise<FieldsResult> {
  const fields: FieldArgument[] = []
  for (const [at, text] of [...typed, ...raw].entries()) {
    const field = await readField(context, text, at < typed.length)
    if ('ok' in field) return field
    fields.push(field)
  }
  return { ok: true, fields }
}

/** Counts the fields that read stdin; only one field may read it. */
export const readsStdin = (typed: readonly string[]) => typed.filter((it) => /^[^=]+=@-$/.test(it)).length

async function readField(
  { host }: Pick<Context, 'host'>,
  typed: string,
  isTyped: boolean,
): Promise<FieldArgument | Failure> {
  const flag = isTyped ? '--field' : '--raw-field'
  const at = typed.indexOf('=')
  const name = at < 0 ? typed : typed.slice(0, at)
  if (at < 0 && name.endsWith('[]')) return { name, value: undefined, text: '' }
  if (at < 1) return usage(`${flag} must be NAME=VALUE.`, '--fields A,B shows only these members of the response.')
  const text = typed.slice(at + 1)
  if (isTyped && text.startsWith('@')) {
    const file = text.slice(1)
    const read = await readTextFile(host, file)
    if (!read.ok) return read
    const content = read.text.replace(/\r?\n$/, '')
    return { name, value: content, text: content }
  }
  if (/(?:^|[.[])secret_token\]?$/.test(name) || kindOf(text) !== undefined) {
    return usage(
      `${flag} ${name} holds a secret, and other users of this machine can see what is typed.`,
      `Write it to a file: --field ${name}=@FILE, or @- for stdin.`,
    )
  }
  if (!isTyped) return { name, value: text, text }
  const value = typedValue(text)
  if (value === undefined)
    return usage(
      `--field ${name}: ${text} loses digits as a number.`,
      `Send it as text with --raw-field, or whole with --input.`,
    )
  return { name, value, text }
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const LITERALS: Readonly<Record<string, unknown>> = { true: true, false: false, null: null }

/** Parses a value of `-F`; undefined for a number that JSON parsers would round. */
function typedValue(text: string): unknown {
  if (Object.hasOwn(LITERALS, text)) return LITERALS[text]
  if (!NUMBER.test(text)) return text
  const value = Number(text)
  const isExact = /^-?\d+$/.test(text) ? Number.isSafeInteger(value) : significant(text) <= DECIMALS_MAX
  return isExact && Number.isFinite(value) ? value : undefined
}

/** Maximum number of decimal digits that a double always represents exactly. */
const DECIMALS_MAX = 15
const significant = (text: string) =>
  text
    .replace(/[eE].*$/, '')
    .replace(/\D/g, '')
    .replace(/^0+/, '').length

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
    if (steps === undefined) return usage(`${name} is not a member name.`, 'Such as a, a.b, a[b], a[] or a[][b].')
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
