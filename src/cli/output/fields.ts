import { asMembers } from '../../secure/json.js'
import { type Failure, fail } from '../failure.js'

export interface List {
  readonly items: readonly unknown[]
  readonly pagination?: { readonly page: number; readonly pages: number; readonly total: number } | null
}

export function isList(data: unknown): data is List {
  return Array.isArray(asMembers(data)?.items)
}

/** A schema of the contract, or what the command line's bundle keeps of one. */
export type Shape = object

/** What of it tells members apart; a schema without any of it may hold whatever there is. */
interface Schema {
  readonly type?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
}

/** `--fields`: of a list, the members of each item; of a record, its own. A path such as `voucher.status` goes inside. */
export function selectFields(data: unknown, fields: readonly string[]): unknown {
  const pick = (record: unknown) => Object.fromEntries(fields.map((field) => [field, valueAt(record, field) ?? null]))
  return isList(data) ? { ...data, items: data.items.map(pick) } : pick(data)
}

/** The fields that neither the contract knows nor any of the records has. */
export function refuseUnknownInAnswer(
  data: unknown,
  fields: readonly string[],
  shape: Shape | undefined,
): Failure | undefined {
  const records = isList(data) ? data.items : [data]
  const known = shape === undefined ? undefined : recordOf(shape)
  const unknown = fields.filter((field) => {
    if (known === undefined ? records.length === 0 : mayHave(known, field.split('.'))) return false
    return records.every((record) => valueAt(record, field) === undefined)
  })
  if (unknown.length === 0) return undefined
  const names = new Set([
    ...records.flatMap((it) => Object.keys(asMembers(it) ?? {})),
    ...(known === undefined ? [] : namesOf(known)),
  ])
  return unknownField(unknown, [...names])
}

/** Before anything is sent: the fields that the contract does not know. */
export function refuseUnknownInContract(fields: readonly string[], shape: Shape): Failure | undefined {
  const known = recordOf(shape)
  const unknown = fields.filter((field) => !mayHave(known, field.split('.')))
  return unknown.length === 0 ? undefined : unknownField(unknown, namesOf(known))
}

/** Members that the contract knows. */
export const fieldNames = (shape: Shape): readonly string[] => [...new Set(namesOf(recordOf(shape)))]

function unknownField(unknown: readonly string[], names: readonly string[]): Failure {
  const quoted = unknown.map((it) => `"${it}"`).join(', ')
  const there = names.length === 0 ? 'There are none.' : `There are ${names.join(', ')}.`
  return fail('UNKNOWN_FIELD', `--fields names what is not there: ${quoted}.`, there, { fields: names })
}

/** The record that fields are of: an item where the answer is a list. */
function recordOf(shape: Shape): Schema {
  const schema: Schema = shape
  return schema.properties?.items?.items ?? schema
}

function mayHave(shape: Schema, [name, ...rest]: readonly string[]): boolean {
  if (name === undefined) return true
  if (shape.anyOf !== undefined) return shape.anyOf.some((it) => mayHave(it, [name, ...rest]))
  if (shape.items !== undefined) return /^\d+$/.test(name) && mayHave(shape.items, rest)
  if (shape.properties !== undefined) {
    return Object.hasOwn(shape.properties, name) && mayHave(shape.properties[name] as Schema, rest)
  }
  // A text or a number has no members; any other schema leaves them open.
  return [shape.type].flat().some((it) => it === undefined || it === 'object')
}

function namesOf({ properties, anyOf }: Schema): string[] {
  return [...Object.keys(properties ?? {}), ...(anyOf ?? []).flatMap(namesOf)]
}

/** The value at a path; null also below a null, which has no members either, undefined where there is no such member. */
export function valueAt(record: unknown, path: string): unknown {
  // What --fields has picked by a path is a member of that name.
  const names = Object.hasOwn(asMembers(record) ?? {}, path) ? [path] : path.split('.')
  let value = record
  for (const name of names) {
    if (value === null) return null
    if (typeof value !== 'object' || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}
