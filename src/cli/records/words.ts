import { kindOfMember, type RecordKind } from '../../contract/record-kinds.js'
import type { Positional } from '../command/leaf.js'
import { readConfig } from '../config/config.js'
import type { Flag, LocalKind } from '../flags/flags.js'
import type { Host, Word } from '../host/host.js'
import { plainLine, withTimes } from '../output/text.js'
import type { IdKind, IdTarget, Limits } from './live.js'

const localKinds: readonly ValueKind[] = ['recorded', 'endpoints', 'routes', 'profiles'] satisfies LocalKind[]
export const isLocal = (kind: ValueKind): kind is LocalKind => localKinds.includes(kind)

/** Kind of value that a flag or argument takes; `fields` are member names of the result. */
export type ValueKind = 'choices' | 'files' | 'folders' | 'fields' | IdKind | LocalKind | 'free'

/** A value that completion and prompts look up on this machine. `current` is the start of the word. */
export interface LocalTarget {
  readonly kind: 'local'
  readonly of: LocalKind
  readonly line: IdTarget['line']
  readonly current: string
}

/** Kinds by placeholder, which means the same in every command; ids have the kind of their member. */
const byPlaceholder: Readonly<Partial<Record<string, ValueKind>>> = {
  FILE: 'files',
  'FILE|-': 'files',
  'PATH|-': 'files',
  DIR: 'folders',
  PROFILE: 'profiles',
  DELIVERY: 'recorded',
  PATH: 'routes',
  'A,B': 'fields',
}

/** Kinds of records whose ids no call lists. */
const unlisted: readonly unknown[] = ['vouchers', 'redemptions', 'requests'] satisfies Exclude<RecordKind, IdKind>[]

/** What a flag or argument says of its value. */
interface Described {
  readonly kind?: LocalKind
  readonly member?: string | readonly string[]
  readonly choices?: readonly string[] | undefined
}

function kindOf(placeholder: string, { kind, member, choices }: Described): ValueKind {
  if (choices !== undefined) return 'choices'
  const ids = kindOfMember([member].flat().at(-1) ?? '')
  return kind ?? byPlaceholder[placeholder] ?? (unlisted.includes(ids) ? undefined : (ids as IdKind)) ?? 'free'
}

export const kindOfFlag = (flag: Flag<unknown>): ValueKind => kindOf(flag.value ?? '', flag)

export const kindOfPositional = (positional: Pick<Positional, 'name' | 'member' | 'choices'>): ValueKind =>
  kindOf(positional.name, positional)

const NEWEST = 100
/** Maximum bytes of an inbox that completion reads; opening a larger one takes too long. */
const INBOX_BYTES_MAX = 64 * 1024 * 1024
const API = '/api/v1'
/**
 * Finds the words that can stand at a place of the command line, without control characters. Never prompts or prints.
 * @returns undefined if they are unknown, for example without a server
 */
export async function wordsOf(
  target: IdTarget | LocalTarget,
  host: Host,
  limits: Limits,
): Promise<readonly Word[] | undefined> {
  const words = await (target.kind === 'local'
    ? localWords[target.of](target, silent(host))
    : (await import('./live.js')).liveWords(target, silent(host), limits))
  return words
    ?.filter(({ value }) => isTypable(value))
    .map(({ value, summary }) => ({ value, summary: plainLine(summary) }))
}

/** Functions that find candidates in files of this machine, without a call. */
const localWords: Readonly<
  Record<LocalKind, (target: LocalTarget, host: Host) => Promise<readonly Word[] | undefined>>
> = {
  recorded: async ({ line: { given } }, host) => {
    const { inboxDirOf } = await import('../config/local-server.js')
    const { Inbox, inboxBytes } = await import('../../workbench/inbox.js')
    const dir = inboxDirOf(host, given.get('inbox')?.[0])
    if (inboxBytes(dir) > INBOX_BYTES_MAX) return undefined
    const inbox = new Inbox(dir)
    return inbox
      .find({}, NEWEST)
      .reverse()
      .map((delivery) => {
        const { id, at, verdict, type, update_id, reason } = delivery
        const what = update_id === null ? (reason ?? 'no update') : `${type ?? 'no type'} #${update_id}`
        return { value: id, summary: `${what}, ${verdict}, ${withTimes(new Date(at).toISOString(), host.zone)}` }
      })
  },
  endpoints: async () => {
    const { endpoints } = await import('../../contract/index.js')
    return endpoints.filter((it) => it.caller !== 'operator').map(({ id, summary }) => ({ value: id, summary }))
  },
  routes: async ({ line: { path, operands }, current }) => {
    const { knownRoutes } = await import('../command/known-routes.js')
    const method = operands[0]?.toUpperCase()
    const isInner = path[0] === 'secure'
    const routes = (await knownRoutes()).filter(
      (route) =>
        route.method === method &&
        (!isInner || (route.path.startsWith(`${API}/`) && !route.path.startsWith(`${API}/secure/`))),
    )
    const isShort = !isInner && !current.startsWith(API)
    const shown = (it: string) => (isShort && it.startsWith(`${API}/`) ? it.slice(API.length) : it)
    return routes.map((it) => ({ value: shown(it.path), summary: it.summary }))
  },
  profiles: async (_target, host) => {
    const stored = readConfig(host)
    if (!stored.ok) return []
    return Object.entries(stored.config.profiles).map(([value, { base_url }]) => ({ value, summary: base_url ?? '' }))
  },
}

/** True if an id has no control character, which could break the command line of the shell. */
const isTypable = (value: string) => value !== '' && plainLine(value) === value

function silent({ env, cwd, homeDir, now, zone, newId, version, document, signal, self }: Host): Host {
  const out = { write: () => {} }
  const stdin = { async *[Symbol.asyncIterator]() {} }
  const questions = () => Promise.reject(new Error('completion asks nothing'))
  const silenced = { stdin, stdout: out, stderr: out, questions }
  return { env, cwd, homeDir, now, zone, newId, version, document, signal, self, ...silenced }
}
