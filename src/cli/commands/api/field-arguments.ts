import { kindOf } from '../../../contract/values/secrets.js'
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
      `--field ${name}: ${text} cannot be kept exactly as a number.`,
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
