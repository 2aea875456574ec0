import { createHash } from 'node:crypto'
import { dirname, join } from 'node:path'
import { userFolder } from '../../files/data-dir.js'
import { findText } from '../../files/read-file.js'
import { asMembers, type Members, parseObject } from '../../values/json.js'
import type { Host } from '../host/host.js'

/** Kinds of resources whose ids come from a server, with the members that summarize a record of a list. */
const summaryMembers = {
  apps: ['name', 'status'],
  tokens: ['name', 'status'],
  // Records of pending reviews have no status but an account.
  templates: ['name', 'status', 'account_id'],
  bots: ['name', 'status', 'account_id'],
  chats: ['user_id', 'type'],
  deliveries: ['update_type', 'status'],
  faults: ['endpoint', 'kind'],
} as const
export type IdKind = keyof typeof summaryMembers

const kindOfPrefix: Readonly<Partial<Record<string, IdKind>>> = {
  app: 'apps',
  tok: 'tokens',
  tpl: 'templates',
  bot: 'bots',
  chat: 'chats',
  dlv: 'deliveries',
  flt: 'faults',
}

/** Kind of the resource that an id of the reference server names; undefined for another form. */
export const kindOfId = (id: string): IdKind | undefined => kindOfPrefix[id.slice(0, Math.max(0, id.indexOf('_')))]

export interface CachedRecord {
  readonly id: string
  readonly status: string
  readonly summary: string
}

/** Returns what completion shows of a record; undefined for a record without id. */
export function cachedRecordOf(kind: IdKind, value: unknown): CachedRecord | undefined {
  const { id, status, ...record }: Members = asMembers(value) ?? {}
  if (typeof id !== 'string') return undefined
  const shown = summaryMembers[kind].map((name) => (name === 'status' ? status : record[name]))
  const summary = shown.filter((it) => typeof it === 'string' || typeof it === 'number').join(', ')
  return { id, status: String(status), summary }
}

/** Maximum age in ms of a list in place of a call, so that several Tabs in a row make one call. */
const FRESH_MS = 3_000
/** Maximum age in ms of records in place of a response that did not arrive in time. */
const STALE_MS = 24 * 60 * 60 * 1_000
const ENTRIES_MAX = 40
const RECORDS_MAX = 100

interface Entry {
  /** Time of storing, ms since 1970. */
  readonly at: number
  readonly records: readonly CachedRecord[]
}

/** Which records of a server are meant: those of a list, or all of a kind that commands of the account have seen. */
export interface RecordSet {
  readonly baseUrl: string
  /** No account is offered ids of another account. */
  readonly credential: string
  readonly kind: IdKind
  /** Input of the call that lists the records. */
  readonly input: Members
}

const keyOf = ({ baseUrl, credential, kind }: RecordSet, rest: unknown) =>
  createHash('sha256')
    .update(JSON.stringify([new URL(baseUrl).origin, credential, kind, rest]))
    .digest('hex')

/** Applications and bots belong to the account, which the credential names; others also to one of these. */
const seenKey = (set: RecordSet) => {
  const { appId, botId, bot_id } = set.input
  return keyOf(set, set.kind === 'apps' || set.kind === 'bots' ? 'seen' : ['seen', appId ?? botId ?? bot_id ?? null])
}

/** Reads the records of an earlier list and of earlier commands (RULES.md#completion). */
export function readCached(
  host: Host,
  set: RecordSet,
): { readonly records: readonly CachedRecord[]; readonly isFresh: boolean } | undefined {
  const entries = entriesOf(host)
  const ageOf = (entry: Entry | undefined) => host.now() - (entry?.at ?? Number.NEGATIVE_INFINITY)
  const list = entries[keyOf(set, set.input)]
  const isFresh = ageOf(list) >= 0 && ageOf(list) <= FRESH_MS
  const seen = isFresh ? undefined : entries[seenKey(set)]
  const usable = [seen, list].filter((it) => it !== undefined && ageOf(it) >= 0 && ageOf(it) <= STALE_MS)
  return usable.length === 0 ? undefined : { records: merged(usable), isFresh }
}

const merged = (entries: readonly (Entry | undefined)[]): readonly CachedRecord[] => [
  ...new Map(entries.flatMap((it) => it?.records ?? []).map((it) => [it.id, it])).values(),
]

/** Stores a list. */
export const writeCached = (host: Host, set: RecordSet, records: readonly CachedRecord[]): Promise<void> =>
  write(host, (entries) => ({ ...entries, [keyOf(set, set.input)]: { at: host.now(), records } }))

/** Stores the ids in the result of a call, for a completion whose response comes too late. */
export async function rememberIds(host: Host, call: Omit<RecordSet, 'kind'>, data: unknown): Promise<void> {
  const { items } = asMembers(data) ?? {}
  const values: readonly unknown[] = Array.isArray(items) ? items : [data]
  const kind = kindOfId(String(asMembers(values[0])?.id))
  if (kind === undefined) return
  const records = values.flatMap((it) => cachedRecordOf(kind, it) ?? [])
  const key = seenKey({ ...call, kind })
  await write(host, (entries) => {
    const known = merged([entries[key], { at: 0, records }])
    return { ...entries, [key]: { at: host.now(), records: known.slice(-RECORDS_MAX) } }
  })
}

/** Stores entries with mode 0600; a failure only costs the next completion a call. */
async function write(host: Host, change: (entries: Entries) => Entries): Promise<void> {
  const { replaceFile } = await import('../../files/replace-file.js')
  const { makeFolder } = await import('../../files/sync-folder.js')
  const file = fileOf(host)
  const newest = Object.entries(change(entriesOf(host)))
    .sort(([, one], [, other]) => other.at - one.at)
    .slice(0, ENTRIES_MAX)
  try {
    makeFolder(dirname(file))
    replaceFile(file, JSON.stringify(Object.fromEntries(newest)), { flush: false })
  } catch {
    // Ignore a read-only folder and a full disk.
  }
}

type Entries = Readonly<Record<string, Entry>>

const fileOf = (host: Pick<Host, 'env' | 'homeDir'>) => join(userFolder(host, 'CACHE'), 'voucherctl', 'completion.json')

/** Reads the file; entries of another form, such as those of an earlier version, are omitted. */
function entriesOf(host: Host): Entries {
  const isEntry = ([, it]: readonly [string, unknown]) =>
    typeof asMembers(it)?.at === 'number' && Array.isArray(asMembers(it)?.records)
  const entries = parseObject(findText(fileOf(host)) ?? '') ?? {}
  return Object.fromEntries(Object.entries(entries).filter(isEntry)) as Entries
}
