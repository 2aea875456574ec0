import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Call, createCall } from '../../client/call.js'
import { withSecure } from '../../client/secure.js'
import { apps } from '../../contract/apps.js'
import { bots } from '../../contract/bots.js'
import type { CredentialKind, Endpoint, InputOf, OutputOf } from '../../contract/endpoint.js'
import { platformControls as controls } from '../../contract/platform/controls.js'
import { platformDeliveries as deliveries } from '../../contract/platform/deliveries.js'
import { platform } from '../../contract/platform/platform.js'
import { templates } from '../../contract/templates.js'
import { tokens } from '../../contract/tokens.js'
import { webhook } from '../../contract/webhook.js'
import { asMembers, type Members, parseObject } from '../../values/json.js'
import { openPlain, secureOptions } from '../command/transport.js'
import { findCredential } from '../config/credentials.js'
import { refuseImpostor } from '../config/local-server.js'
import { resolveSettings } from '../config/settings.js'
import type { FlagTexts } from '../flags/flags.js'
import { readGlobals } from '../flags/globals.js'
import type { Host, Word } from '../host/host.js'
import { Output } from '../output/output.js'
import { isList, type List } from '../output/select-fields.js'

/** Resources whose ids come from a server. */
export type IdKind = 'apps' | 'tokens' | 'templates' | 'bots' | 'chats' | 'deliveries' | 'faults'

/** A value that completion and prompts look up on a server. */
export interface IdTarget {
  readonly kind: 'ids'
  readonly of: IdKind
  /** The words before the value. */
  readonly line: {
    readonly path: readonly string[]
    readonly given: FlagTexts
    readonly operands: readonly string[]
  }
}

const LIMIT = 100

/**
 * Fetches ids from the chosen server, or from the cache of an earlier completion. It never prompts, retries or prints.
 * @param remainingMs returns the milliseconds until completion gives up
 * @param onCached called before a call with the words to use if no response arrives in time; without it the cache is not used
 * @param pages maximum number of pages to fetch
 * @returns undefined if no list was read
 */
export async function liveWords(
  target: IdTarget,
  host: Host,
  remainingMs: () => number,
  onCached: ((words: readonly Word[]) => void) | undefined,
  pages = 1,
): Promise<readonly Word[] | undefined> {
  const source = sourceOf(target)
  const caller = source && (await findCaller(host, target.line.given, source.endpoint.caller))
  if (source === undefined || caller === undefined) return undefined
  const path = target.line.path.join(' ')
  const key = cacheKey(new URL(caller.base).origin, caller.credential, source.endpoint.id, source.input, path)
  const cached = onCached && readCached(host, key)
  onCached?.(cached?.words ?? [])
  if (cached?.isFresh || remainingMs() < 1) return cached?.words
  const call = await openCall(caller)
  if (call === undefined || remainingMs() < 1) return cached?.words
  const words = await fetchWords(call, source, path, remainingMs, pages)
  if (words === 'unreachable') return cached?.words
  if (onCached && words !== undefined && words.length > 0) await writeCached(host, key, words)
  return words
}

/** Fetches pages until the time limit; undefined if the server refuses the first page. */
async function fetchWords(
  call: Call,
  source: IdSource,
  path: string,
  remainingMs: () => number,
  pages: number,
): Promise<readonly Word[] | 'unreachable' | undefined> {
  const words: Word[] = []
  for (let page = 1; page <= pages && remainingMs() >= 1; page += 1) {
    const input = page === 1 ? source.input : { ...source.input, page }
    const timeoutMs = Math.floor(remainingMs())
    const result = await call(source.endpoint, input as InputOf<Endpoint>, { timeoutMs })
    if (!result.ok && page === 1) return result.status === null || result.status === 0 ? 'unreachable' : undefined
    if (!result.ok || !isList(result.data)) break
    words.push(...wordsIn(result.data, source, path))
    if ((result.data.pagination?.pages ?? 1) <= page) break
  }
  return words
}

const wordsIn = ({ items }: List, source: IdSource, path: string): readonly Word[] =>
  items.flatMap((item) => {
    const record = asMembers(item) ?? {}
    const isAccepted = acceptedStatuses[path]?.includes(String(record.status)) ?? true
    return typeof record.id === 'string' && isAccepted ? [{ value: record.id, summary: source.summary(record) }] : []
  })

/** Statuses of the resources that a command can change; the command refuses others. */
const acceptedStatuses: Readonly<Partial<Record<string, readonly string[]>>> = {
  'templates submit': ['draft', 'rejected'],
  'tokens revoke': ['active'],
  'apps link-bot': ['active'],
  'platform apps suspend': ['active', 'disabled'],
  'platform apps reinstate': ['suspended'],
  'platform bots disable': ['active'],
  'platform bots enable': ['disabled'],
}

interface IdSource {
  readonly endpoint: Endpoint
  readonly input: Readonly<Record<string, unknown>>
  summary(record: Members): string
}

/** Describes a list call. @param members members that form the summary of an id; missing members are skipped */
function source<E extends Endpoint>(
  endpoint: E,
  input: InputOf<E>,
  ...members: readonly (keyof ItemOf<E> & string)[]
): IdSource {
  const summary: IdSource['summary'] = (record) =>
    members
      .map((name) => record[name])
      .filter((it) => typeof it === 'string' || typeof it === 'number')
      .join(', ')
  return { endpoint, input: { limit: LIMIT, ...(input as object) }, summary }
}

type ItemOf<E extends Endpoint> = OutputOf<E> extends { items: readonly (infer Item)[] } ? Item : never

/** Chooses the list call that returns the ids for a command; undefined if the line lacks a flag that the call needs. */
function sourceOf({ of, line: { given, path: names } }: IdTarget): IdSource | undefined {
  const path = names.join(' ')
  const app = given.get('app')?.[0]
  const bot = given.get('bot')?.[0]
  switch (of) {
    case 'apps':
      return source(apps.list, {}, 'name', 'status')
    case 'tokens':
      return app === undefined ? undefined : source(tokens.list, { appId: app }, 'name', 'status')
    case 'templates': {
      if (path.startsWith('platform ')) return waiting('template')
      const status = path.startsWith('vouchers issue') ? ({ status: 'active' } as const) : {}
      if (bot === undefined) return source(templates.list, status, 'name', 'status')
      return source(bots.templates, { botId: bot, ...status }, 'name', 'status')
    }
    case 'bots':
      return /^platform bots (?:approve|reject)$/.test(path) ? waiting('bot') : source(bots.list, {}, 'name', 'status')
    case 'chats':
      return source(platform.chats, bot === undefined ? {} : { bot_id: bot }, 'user_id', 'type')
    case 'deliveries':
      if (path.startsWith('platform ')) return source(deliveries.deliveries, {}, 'update_type', 'status')
      return bot === undefined ? undefined : source(webhook.deliveries, { botId: bot }, 'update_type', 'status')
    case 'faults':
      return { ...source(controls.faults, {}, 'endpoint', 'kind'), input: {} }
  }
}

/** Describes the call that lists pending reviews, which has no pages. */
function waiting(kind: 'template' | 'bot'): IdSource {
  return { ...source(platform.reviews, { kind }, 'name', 'account_id'), input: { kind } }
}

/** Settings and credential of a call, found without a call to the chosen server. */
interface Caller {
  readonly options: Parameters<typeof openPlain>[0]
  readonly base: string
  readonly credential: string
  /** Decides whether the credential may be sent: the words of an earlier completion need no proof of the server. */
  mayBeSent(): Promise<boolean>
}

/** Finds the stored settings and the credential of the chosen server; undefined if either is missing. */
async function findCaller(host: Host, given: FlagTexts, kind: CredentialKind): Promise<Caller | undefined> {
  // Set these flags because completion must never prompt, print or retry.
  const globals = { ...readGlobals(given).globals, quiet: true, debug: false, 'dry-run': false, 'no-input': true }
  const file = globals['token-file']
  // Do not read a pipe or standard input: its content is meant for the command when it runs.
  if (file !== undefined && !statSync(file, { throwIfNoEntry: false })?.isFile()) return undefined
  const resolved = resolveSettings(host, globals)
  if (!resolved.ok) return undefined
  const { settings } = resolved
  const base = settings.baseUrl.value
  if (base === undefined || settings.profileMissing) return undefined
  const find = (isDry: boolean) => findCredential(host, { ...globals, 'dry-run': isDry }, settings, kind, base)
  const credential = await find(true)
  if (!credential.ok) return undefined
  const output = new Output(host, { format: 'json', quiet: true })
  return {
    options: { globals, settings, host, output },
    base,
    credential: credential.value,
    mayBeSent: async () => (await find(false)).ok,
  }
}

/** Opens calls; undefined if a process other than the profile's server listens on its port. */
async function openCall({ options, base, credential, mayBeSent }: Caller): Promise<Call | undefined> {
  const { settings } = options
  if ((await refuseImpostor(settings, base)) !== undefined || !(await mayBeSent())) return undefined
  const mode = settings.secure.mode.value
  const plain = await openPlain(options, base)
  const latched = settings.secure.latched.value.includes(new URL(base).origin)
  const transport =
    mode === 'off'
      ? plain
      : withSecure(plain, {
          ...(await secureOptions(options, base)),
          mode,
          downgradeProtection: { isSet: () => latched, set: () => {} },
        })
  return createCall(transport, { token: credential })
}

/** Maximum age in ms of stored words in place of a call, so that several Tabs in a row make one call. */
const FRESH_MS = 3_000
/** Maximum age in ms of stored words in place of a response that did not arrive in time. */
const STALE_MS = 60_000
const ENTRIES_MAX = 20

interface Entry {
  /** Time of storing, ms since 1970. */
  readonly at: number
  readonly words: readonly Word[]
}

interface CachedWords {
  readonly words: readonly Word[]
  readonly isFresh: boolean
}

const fileOf = ({ env, homeDir }: Pick<Host, 'env' | 'homeDir'>) =>
  join(env.XDG_CACHE_HOME || join(homeDir, '.cache'), 'voucherctl', 'completion.json')

/** Key of a list of ids. It includes the credential, so that no account is offered ids of another account. */
const cacheKey = (...parts: readonly unknown[]) => createHash('sha256').update(JSON.stringify(parts)).digest('hex')

/** Words of an earlier completion (RULES.md#completion). */
function readCached(host: Host, key: string): CachedWords | undefined {
  const { at, words } = entriesOf(host)[key] ?? {}
  if (typeof at !== 'number' || !Array.isArray(words)) return undefined
  const age = host.now() - at
  return age < 0 || age > STALE_MS ? undefined : { words, isFresh: age <= FRESH_MS }
}

/** Stores the words with mode 0600; a failure only costs the next completion a call. */
async function writeCached(host: Host, key: string, words: readonly Word[]): Promise<void> {
  const { replaceFile } = await import('../../files/replace-file.js')
  const file = fileOf(host)
  const entries = Object.entries({ ...entriesOf(host), [key]: { at: host.now(), words } })
  const newest = entries.sort(([, one], [, other]) => other.at - one.at).slice(0, ENTRIES_MAX)
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    replaceFile(file, JSON.stringify(Object.fromEntries(newest)), { flush: false })
  } catch {
    // Ignore a read-only folder and a full disk.
  }
}

function entriesOf(host: Host): Readonly<Record<string, Entry>> {
  try {
    return (parseObject(readFileSync(fileOf(host), 'utf8')) ?? {}) as Record<string, Entry>
  } catch {
    return {}
  }
}
