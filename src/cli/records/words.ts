import { readConfig } from '../config/config.js'
import type { Flag } from '../flags/flags.js'
import type { Host, Word } from '../host/host.js'
import { plainLine, withTimes } from '../output/text.js'
import type { IdKind, IdTarget, Limits } from './live.js'

/** Kinds of words from this machine: recorded deliveries, endpoint ids, paths of routes, names of profiles. */
const localKinds = ['recorded', 'endpoints', 'routes', 'profiles'] as const
export type LocalKind = (typeof localKinds)[number]
export const isLocal = (kind: ValueKind): kind is LocalKind => localKinds.some((it) => it === kind)

/** Kind of value that a flag or argument takes; `fields` are member names of the result. */
export type ValueKind = 'choices' | 'files' | 'folders' | 'fields' | IdKind | LocalKind | 'free'

/** A value that completion and prompts look up on this machine. `current` is the start of the word. */
export interface LocalTarget {
  readonly kind: 'local'
  readonly of: LocalKind
  readonly line: IdTarget['line']
  readonly current: string
}

/** Kinds by placeholder. A placeholder means the same in every command, so flags need not declare a kind. */
const byPlaceholder: Readonly<Partial<Record<string, ValueKind>>> = {
  FILE: 'files',
  'FILE|-': 'files',
  'PATH|-': 'files',
  DIR: 'folders',
  APP_ID: 'apps',
  TOKEN_ID: 'tokens',
  TEMPLATE_ID: 'templates',
  BOT_ID: 'bots',
  BOT: 'bots',
  CHAT_ID: 'chats',
  DELIVERY_ID: 'deliveries',
  FAULT_ID: 'faults',
  PROFILE: 'profiles',
  DELIVERY: 'recorded',
  PATH: 'routes',
  'A,B': 'fields',
}

/** Kinds of flags whose value is the id of a resource, such as `--app ID`. */
const byFlag: Readonly<Partial<Record<string, ValueKind>>> = {
  app: 'apps',
  template: 'templates',
  bot: 'bots',
  chat: 'chats',
  profile: 'profiles',
  id: 'recorded',
  endpoint: 'endpoints',
}

export function kindOfFlag(name: string, { value = '', choices }: Flag<unknown>): ValueKind {
  if (choices !== undefined) return 'choices'
  return byPlaceholder[value] ?? (value === 'ID' || value === 'NAME' ? byFlag[name] : undefined) ?? 'free'
}

/** Members of a positional argument that determine its kind of value. */
interface Operand {
  readonly name: string
  readonly choices?: readonly string[] | undefined
}

export function kindOfPositional({ name, choices }: Operand): ValueKind {
  return choices === undefined ? (byPlaceholder[name] ?? 'free') : 'choices'
}

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
