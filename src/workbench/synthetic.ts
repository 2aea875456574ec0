import type { UpdateType } from '../contract/updates.js'
import { closest } from '../values/closest.js'
import { type MapShape, type ObjectShape, type ScalarShape, updateShape } from './synthetic-shapes.js'

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
  const found = memberAt(updateShape(type), path.split('.'))
  if (path === 'type' || found === undefined) return unknownPath(type, path)
  if ('members' in found || found.kind === 'pairs') {
    const below = 'members' in found ? Object.keys(found.members).map((it) => `${path}.${it}`) : [`${path}.NAME`]
    const inside = below.length === 0 ? 'It has no members.' : `Set a member of it: ${below.join(', ')}.`
    return { ok: false, message: `${path} is an object.`, hint: inside }
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
  const update = sampleOf(updateShape(type), now)
  update.update_id = updateId
  for (const override of overrides) applyOverride(update, override)
  return update
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
  return below(updateShape(type), '').filter((path) => path !== 'type')
}

function below(shape: ObjectShape, prefix: string): string[] {
  return Object.entries(shape).flatMap(([name, member]) => {
    if ('members' in member) return below(member.members, `${prefix}${name}.`)
    return [`${prefix}${name}${member.kind === 'pairs' ? '.NAME' : ''}`]
  })
}

function memberAt(shape: ObjectShape, names: readonly string[]): ObjectShape[string] | undefined {
  const [name = '', ...rest] = names
  const member = Object.hasOwn(shape, name) ? shape[name] : undefined
  if (member === undefined || rest.length === 0) return member
  if ('members' in member) return memberAt(member.members, rest)
  return member.kind === 'pairs' && rest.join('.') === rest[0] && rest[0] !== '' ? { kind: 'text' } : undefined
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

/** Parses the value of a scalar member; undefined for a text that is not permitted. */
function readValue({ kind, choices, nullable }: ScalarShape, text: string): Override['value'] | undefined {
  if (nullable && text === 'null') return null
  switch (kind) {
    case 'text':
      return choices === undefined || choices.includes(text) ? text : undefined
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : undefined
    case 'integer':
      return /^\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : undefined
    case 'instant': {
      const ms = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN
      return Number.isNaN(ms) ? undefined : new Date(ms).toISOString()
    }
  }
}

function expected({ kind, choices, nullable }: ScalarShape): string {
  const words = {
    text: choices === undefined ? 'a text' : `one of ${choices.join(', ')}`,
    boolean: 'true or false',
    integer: 'a whole number from 0',
    instant: 'a time such as 2027-01-31T00:00:00Z',
  }
  return nullable ? `${words[kind]}, or null` : words[kind]
}

function sampleOf(shape: ObjectShape, now: number): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(shape).map(([name, member]) => [
      name,
      'members' in member ? sampleOf(member.members, now) : valueOf(member, now),
    ]),
  )
}

function valueOf(member: ScalarShape | MapShape, now: number): unknown {
  if (member.kind === 'pairs') return { ...member.sample }
  if (member.sample !== undefined) return member.sample
  const ms = now + (member.after ?? 0) * 1000
  return member.kind === 'instant' ? new Date(ms).toISOString() : Math.floor(ms / 1000)
}
