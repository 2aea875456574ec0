import { apps } from '../../contract/apps.js'
import { bots } from '../../contract/bots.js'
import type { Endpoint, InputOf } from '../../contract/endpoint.js'
import { kindOfId } from '../../contract/record-kinds.js'
import { templates } from '../../contract/templates.js'
import { didYouMean } from '../../values/closest.js'
import { asMembers, type Members } from '../../values/json.js'
import { type Failure, fail, usage } from '../failures/failure.js'
import { isList } from '../output/select-fields.js'
import type { Ok } from './context.js'
import { type NamedKind, namesIn } from './id-members.js'

/** Kinds whose records have a name of the user's choice: its member, a noun, and the command that lists the ids. */
const named: Readonly<Record<NamedKind, { readonly member: string; readonly noun: string; readonly command: string }>> =
  {
    bots: { member: 'username', noun: 'bot', command: 'bots list' },
    apps: { member: 'name', noun: 'application', command: 'apps list' },
    templates: { member: 'externalTemplateId', noun: 'template', command: 'templates list' },
  }

/** Makes a call that lists records. */
export type ListCall = (endpoint: Endpoint, input: InputOf<Endpoint>) => Promise<{ ok: true; data: unknown } | Failure>

/**
 * Replaces names of applications, bots and templates in an input by their ids (rules/cli.md#names-of-records).
 * @param known ids that were found earlier
 */
export async function withIds(
  input: Members,
  list: ListCall,
  known = new Map<string, string>(),
): Promise<Ok<Members> | Failure> {
  let members = input
  for (const { member, kind, name } of namesIn(input)) {
    const key = `${kind} ${name}`
    const id = known.get(key)
    const found =
      id === undefined ? await findByName(kind, name, listOf(kind, members), list) : { ok: true as const, value: id }
    if (!found.ok) return found
    known.set(key, found.value)
    members = { ...members, [member]: found.value }
  }
  return { ok: true, value: members }
}

function listOf(kind: NamedKind, { botId }: Members): [Endpoint, Members] {
  if (kind === 'apps') return [apps.list, { limit: 100 }]
  if (kind === 'bots') return [bots.list, { limit: 100 }]
  return typeof botId === 'string' ? [bots.templates, { botId, limit: 100 }] : [templates.list, { limit: 100 }]
}

/** Finds the id of a record by its name on one page of the list. */
async function findByName(
  kind: NamedKind,
  name: string,
  [endpoint, input]: readonly [Endpoint, Members],
  list: ListCall,
): Promise<Ok<string> | Failure> {
  const { noun, command } = named[kind]
  const listed = await list(endpoint, input as InputOf<Endpoint>)
  if (!listed.ok) {
    const why = `The call looks for the ${noun} with the name ${name}, which has not the form of an id.`
    return { ...listed, about: [...(listed.about ?? []), why] }
  }
  const items = isList(listed.data) ? listed.data.items.map((it) => asMembers(it) ?? {}) : []
  const wanted = kind === 'bots' ? name.replace(/^@/, '') : name
  const ids = items.flatMap((it) => (it[named[kind].member] === wanted ? [String(it.id)] : []))
  const [id] = ids
  if (id !== undefined && ids.length === 1) return { ok: true, value: id }
  if (id !== undefined) {
    const message = `${ids.length} ${noun}s have the name ${name}: ${ids.join(', ')}.`
    return fail('USAGE', message, 'Pass an id.', { ids })
  }
  // The ids of another platform may have another form, and the text may be one.
  if (items.length > 0 && items.every((it) => kindOfId(String(it.id)) === undefined)) return { ok: true, value: name }
  const where = isList(listed.data) && (listed.data.pagination?.pages ?? 1) > 1 ? 'first 100 ' : ''
  const names = items.map((it) => String(it[named[kind].member]))
  return usage(
    `None of the ${where}${noun}s has the name or id ${name}.`,
    `${didYouMean(wanted, names, 'Pass one that exists.')} All of them: \`voucherctl ${command}\`.`,
  )
}

/** Returns the id for the value of a flag, for a command that does not send it by `context.call`. */
export async function idOf<T extends string | undefined>(
  { lookUp }: { readonly lookUp: ListCall },
  member: 'template_id' | 'botId',
  name: T,
): Promise<Ok<T> | Failure> {
  const identified = await withIds({ [member]: name }, lookUp)
  return identified.ok ? { ok: true, value: identified.value[member] as T } : identified
}
