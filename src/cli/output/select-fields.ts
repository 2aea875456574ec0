import { asMembers } from '../../values/json.js'
import { type Failure, fail } from '../failures/failure.js'

export interface List {
  readonly items: readonly unknown[]
  readonly pagination?: { readonly page: number; readonly pages: number; readonly total: number } | null
}

export function isList(data: unknown): data is List {
  return Array.isArray(asMembers(data)?.items)
}

/** A JSON schema of the contract, reduced in the bundle to the names of members. */
export type Shape = object

/** The keywords of a schema that describe members; a schema without them permits any member. */
interface ShapeSchema {
  readonly type?: unknown
  readonly properties?: Readonly<Record<string, ShapeSchema>>
  readonly items?: ShapeSchema
  readonly anyOf?: readonly ShapeSchema[]
}

/** Selects the members that `--fields` names from a record, or from each item of a list, by paths such as `a.b`. */
export function selectFields(data: unknown, fields: readonly string[]): unknown {
  const pick = (record: unknown) => Object.fromEntries(fields.map((field) => [field, valueAt(record, field) ?? null]))
  return isList(data) ? { ...data, items: data.items.map(pick) } : pick(data)
}

/** Refuses `--fields` names that neither the contract nor any of the returned records has. */
export function refuseUnknownInResult(
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

/** Refuses `--fields` names that the contract does not have, before a call changes anything. */
export function refuseUnknownInContract(fields: readonly string[], shape: Shape): Failure | undefined {
  const known = recordOf(shape)
  const unknown = fields.filter((field) => !mayHave(known, field.split('.')))
  return unknown.length === 0 ? undefined : unknownField(unknown, namesOf(known))
}

export const fieldNames = (shape: Shape): readonly string[] => [...new Set(namesOf(recordOf(shape)))]

function unknownField(unknown: readonly string[], names: readonly string[]): Failure {
  const quoted = unknown.map((it) => `"${it}"`).join(', ')
  const there = names.length === 0 ? 'The records have no fields.' : `Fields: ${names.join(', ')}.`
  return fail('UNKNOWN_FIELD', `Unknown ${unknown.length === 1 ? 'field' : 'fields'} ${quoted} in --fields.`, there, {
    fields: names,
  })
}

/** Schema of a record; if the result is a list, the schema of its items. */
function recordOf(shape: Shape): ShapeSchema {
  const schema: ShapeSchema = shape
  return schema.properties?.items?.items ?? schema
}

function mayHave(shape: ShapeSchema, [name, ...rest]: readonly string[]): boolean {
  if (name === undefined) return true
  if (shape.anyOf !== undefined) return shape.anyOf.some((it) => mayHave(it, [name, ...rest]))
  if (shape.items !== undefined) return /^\d+$/.test(name) && mayHave(shape.items, rest)
  if (shape.properties !== undefined) {
    return Object.hasOwn(shape.properties, name) && mayHave(shape.properties[name] as ShapeSchema, rest)
  }
  // Texts and numbers have no members; a schema of another or of no type permits any member.
  return [shape.type].flat().some((it) => it === undefined || it === 'object')
}

function namesOf({ properties, anyOf }: ShapeSchema): string[] {
  return [...Object.keys(properties ?? {}), ...(anyOf ?? []).flatMap(namesOf)]
}

/** Returns the value at a path: null if an outer member is null, undefined if a member is missing. */
export function valueAt(record: unknown, path: string): unknown {
  // With --fields, the whole path with its dots is the name of a member.
  const names = Object.hasOwn(asMembers(record) ?? {}, path) ? [path] : path.split('.')
  let value = record
  for (const name of names) {
    if (value === null) return null
    if (typeof value !== 'object' || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}
