import { instant, unixSeconds } from '../contract/fields.js'
import { exampleOf, isInstant, type ReadSchema } from '../contract/schema.js'
import { updateExample, updateSchema } from '../contract/update-payloads.js'
import type { UpdateType } from '../contract/updates.js'
import { closest } from '../values/closest.js'
import { DAY_MS } from '../values/duration.js'

/** A value in place of one member's sample. */
export interface Override {
  /** Member names from the top of the update, joined by dots, such as `message.text`. */
  readonly path: string
  readonly value: string | number | boolean | null
}

type OverrideResult =
  | { readonly ok: true; readonly override: Override }
  | { readonly ok: false; readonly message: string; readonly hint: string }

/**
 * Parses the path and value of an override for an update type, by the shape of the member. The text `null` means null
 * if the member is nullable.
 */
export function readOverride(type: UpdateType, path: string, text: string): OverrideResult {
  const found = memberAt(updateSchema(type) as ReadSchema, path.split('.'))
  if (path === 'type' || found === undefined) return unknownPath(type, path)
  if (found.type === 'object') {
    const paths = found.properties === undefined ? ['NAME'] : Object.keys(found.properties)
    const inside = `Set a member of it: ${paths.map((it) => `${path}.${it}`).join(', ')}.`
    return { ok: false, message: `${path} is an object.`, hint: paths.length === 0 ? 'It has no members.' : inside }
  }
  const value = readValue(found, text)
  if (value !== undefined) return { ok: true, override: { path, value } }
  return { ok: false, message: `${path} must be ${expected(found)}.`, hint: `It was given as ${JSON.stringify(text)}.` }
}

/** Makes a realistic update that depends only on type, id, time and overrides. `now` is in milliseconds. */
export function syntheticUpdate(
  type: UpdateType,
  { updateId, now, overrides = [] }: { updateId: number; now: number; overrides?: readonly Override[] },
): Record<string, unknown> {
  const example = JSON.stringify({ ...updateExample(type), update_id: updateId })
  const update = JSON.parse(example, (_name, value) => atTime(value, now)) as Record<string, unknown>
  for (const override of overrides) applyOverride(update, override)
  return update
}

/** Moves a time of the examples near to `now`. It is the time of the update, or whole days later. */
function atTime(value: unknown, now: number): unknown {
  if (value === exampleOf(unixSeconds)) return Math.floor(now / 1000)
  if (typeof value !== 'string' || !INSTANT.test(value)) return value
  const days = Math.floor((Date.parse(value) - Date.parse(exampleOf(instant))) / DAY_MS)
  return new Date(now + days * DAY_MS).toISOString()
}

/** Sets a member of an update; creates missing records on the path. */
export function applyOverride(update: Record<string, unknown>, { path, value }: Override): void {
  // Define the property: an assignment would not set a member named __proto__.
  const set = (at: Record<string, unknown>, name: string, member: unknown) =>
    Object.defineProperty(at, name, { value: member, enumerable: true, configurable: true, writable: true })
  const names = path.split('.')
  const last = names.pop() as string
  let parent = update
  for (const name of names) {
    if (typeof parent[name] !== 'object' || parent[name] === null || !Object.hasOwn(parent, name)) set(parent, name, {})
    parent = parent[name] as Record<string, unknown>
  }
  set(parent, last, value)
}

/** Lists the path of every member that can be overridden. */
export function pathsOf(type: UpdateType): string[] {
  const { properties = {} } = updateSchema(type) as ReadSchema
  return Object.entries(properties).flatMap(([name, it]) => (name === 'type' ? [] : below(it, name)))
}

function below({ type, properties }: ReadSchema, path: string): string[] {
  if (properties === undefined) return [type === 'object' ? `${path}.NAME` : path]
  return Object.entries(properties).flatMap(([name, it]) => below(it, `${path}.${name}`))
}

function memberAt(
  { properties = {}, additionalProperties }: ReadSchema,
  names: readonly string[],
): ReadSchema | undefined {
  const [name = '', ...rest] = names
  const member = Object.hasOwn(properties, name) ? properties[name] : name === '' ? undefined : additionalProperties
  return member === undefined || rest.length === 0 ? member : memberAt(member, rest)
}

function unknownPath(type: UpdateType, path: string): OverrideResult {
  const paths = pathsOf(type)
  // Suggest the full path if the user typed only its end, the most common mistake.
  const ending = paths.find((it) => it.endsWith(`.${path}`))
  const near = ending ?? closest(path, paths) ?? closest(path.slice(path.lastIndexOf('.') + 1), paths.map(lastName))
  const meant = paths.find((it) => it === near || lastName(it) === near)
  const hint = meant === undefined ? `There are: ${paths.join(', ')}.` : `Did you mean ${meant}?`
  const message = path === 'type' ? 'The type is the argument of the command.' : `A ${type} update has no ${path}.`
  return { ok: false, message, hint: path === 'type' ? `There are: ${paths.join(', ')}.` : hint }
}

const lastName = (path: string) => path.slice(path.lastIndexOf('.') + 1)

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/

/** Describes a scalar member: the type of its values, whether they may be null, and the permitted texts. */
function kindOf(member: ReadSchema) {
  const { type, enum: values } = member
  const types = [type].flat()
  return {
    kind: isInstant(member) ? 'instant' : (types[0] as 'string' | 'boolean' | 'integer'),
    isNullable: types.includes('null'),
    choices: values?.filter((it) => it !== null),
  } as const
}

/** Parses the value of a scalar member; undefined for a text that is not permitted. */
function readValue(member: ReadSchema, text: string): Override['value'] | undefined {
  const { kind, choices, isNullable } = kindOf(member)
  if (isNullable && text === 'null') return null
  switch (kind) {
    case 'string':
      return choices === undefined || choices.includes(text) ? text : undefined
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : undefined
    case 'integer':
      return /^\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : undefined
    case 'instant': {
      const ms = INSTANT.test(text) ? Date.parse(text) : Number.NaN
      return Number.isNaN(ms) ? undefined : new Date(ms).toISOString()
    }
  }
}

function expected(member: ReadSchema): string {
  const { kind, choices, isNullable } = kindOf(member)
  const words = {
    string: choices === undefined ? 'a text' : `one of ${choices.join(', ')}`,
    boolean: 'true or false',
    integer: 'a whole number from 0',
    instant: 'a time such as 2027-01-31T00:00:00Z',
  }
  return isNullable ? `${words[kind]}, or null` : words[kind]
}
