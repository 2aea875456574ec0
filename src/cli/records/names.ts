import type { InputOf } from '../../contract/endpoint.js'
import { asMembers } from '../../values/json.js'
import type { Context, Ok } from '../command/context.js'
import type { Input, Leaf } from '../command/leaf.js'
import { type IdKind, kindOfId } from '../config/id-cache.js'
import { type Failure, usage } from '../failures/failure.js'
import type { Flags } from '../flags/flags.js'
import { isList } from '../output/select-fields.js'
import { kindOfFlag, kindOfPositional } from './words.js'

/** Kinds whose records have a name of the user's choice: its member, a noun, and the command that lists the ids. */
const named = {
  apps: { member: 'name', noun: 'application', list: 'apps list' },
  templates: { member: 'external_template_id', noun: 'template', list: 'templates list' },
  bots: { member: 'username', noun: 'bot', list: 'bots list' },
} as const
export type NamedKind = keyof typeof named
export const isNamed = (kind: string): kind is NamedKind => Object.hasOwn(named, kind)

/** True for a text that can only be a name (RULES.md#names-of-records); an id is never looked up. */
export const mayBeName = (kind: NamedKind, text: unknown): text is string =>
  typeof text === 'string' && text !== '' && kindOfId(text) !== kind

/** Finds the ids of the records in a list that have the name. The list of pending reviews has only the member `name`. */
export function idsOfName(kind: NamedKind, name: string, data: unknown): readonly string[] {
  const wanted = kind === 'bots' ? name.replace(/^@/, '') : name
  return (isList(data) ? data.items : []).flatMap((item) => {
    const { id, ...record } = asMembers(item) ?? {}
    return typeof id === 'string' && (record[named[kind].member] ?? record.name) === wanted ? [id] : []
  })
}

/** Placeholder of a bot that the command looks up itself, if it needs the id. */
const LATER = 'BOT'

/** Replaces names of applications, bots and templates in the input of a command by their ids. */
export async function withIds<F extends Flags>(
  leaf: Leaf,
  input: Input<F, undefined>,
  context: Context,
): Promise<Ok<Input<F, undefined>> | Failure> {
  const flags: Record<string, unknown> = { ...input.flags }
  const given = new Map(context.line.given)
  for (const [name, flag] of Object.entries(leaf.flags ?? {})) {
    const kind = flag.value === LATER ? 'free' : kindOfFlag(name, flag)
    const value = flags[name]
    if (!isNamed(kind) || !mayBeName(kind, value)) continue
    const found = await idOf(context, kind, value, given)
    if (!found.ok) return found
    flags[name] = found.value
    given.set(name, [found.value])
  }
  let positional: unknown = input.positional
  const kind = leaf.positional === undefined ? 'free' : kindOfPositional(leaf.positional)
  if (isNamed(kind) && mayBeName(kind, positional)) {
    const found = await idOf(context, kind, positional, given)
    if (!found.ok) return found
    positional = found.value
  }
  return { ok: true, value: { ...input, flags: flags as typeof input.flags, positional: positional as undefined } }
}

/** Returns an id as it is, and finds that of a record by its name on one page of the list. */
export async function idOf(
  context: Context,
  kind: NamedKind,
  name: string,
  given: ReadonlyMap<string, readonly string[]> = context.line.given,
): Promise<Ok<string> | Failure> {
  if (!mayBeName(kind, name)) return { ok: true, value: name }
  const { sourceOf } = await import('./live.js')
  const { noun, list } = named[kind]
  const source = sourceOf({ kind: 'ids', of: kind, line: { ...context.line, given } })
  if (source === undefined) return { ok: true, value: name }
  const listed = await context.call(source.endpoint, source.input as InputOf<typeof source.endpoint>)
  if (!listed.ok) {
    if (!('plan' in listed))
      return {
        ...listed,
        about: [...(listed.about ?? []), `${name} is looked up because it has not the form of an id.`],
      }
    context.plan(`use the id of the ${noun} ${name} from this list`)
    return { ok: true, value: name }
  }
  const ids = idsOfName(kind, name, listed.data)
  const [id] = ids
  if (id !== undefined && ids.length === 1) return { ok: true, value: id }
  if (id !== undefined) return usage(ambiguous(kind, name, ids), 'Pass an id.')
  if (hasOtherIds(kind, listed.data)) return { ok: true, value: name }
  const where = isList(listed.data) && (listed.data.pagination?.pages ?? 1) > 1 ? 'first 100 ' : ''
  return usage(`None of the ${where}${noun}s has the name or id ${name}.`, `List them: \`voucherctl ${list}\`.`)
}

export const ambiguous = (kind: NamedKind, name: string, ids: readonly string[]) =>
  `${ids.length} ${named[kind].noun}s have the name ${name}: ${ids.join(', ')}.`

/** True if a platform gives its records ids of another form, so that the text may be such an id. */
const hasOtherIds = (kind: IdKind, data: unknown): boolean =>
  isList(data) && data.items.length > 0 && data.items.every((it) => kindOfId(String(asMembers(it)?.id)) !== kind)
