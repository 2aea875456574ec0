import { statSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { type Call, createCall } from '../../client/call.js'
import { withSecure } from '../../client/secure.js'
import { apps } from '../../contract/apps.js'
import { bots } from '../../contract/bots.js'
import type { CredentialKind, Endpoint, InputOf } from '../../contract/endpoint.js'
import { platformControls as controls } from '../../contract/platform/controls.js'
import { platformDeliveries as deliveries } from '../../contract/platform/deliveries.js'
import { platform } from '../../contract/platform/platform.js'
import { kindOfId } from '../../contract/record-kinds.js'
import { templates } from '../../contract/templates.js'
import { tokens } from '../../contract/tokens.js'
import { webhook } from '../../contract/webhook.js'
import { asMembers, type Members } from '../../values/json.js'
import type { Leaf } from '../command/leaf.js'
import { openPlain, secureOptions } from '../command/transport.js'
import { findCredential } from '../config/credentials.js'
import { refuseImpostor } from '../config/local-server.js'
import { resolveSettings } from '../config/settings.js'
import type { FlagTexts } from '../flags/flags.js'
import { readGlobals } from '../flags/globals.js'
import type { Host, Word } from '../host/host.js'
import { Output } from '../output/output.js'
import { isList } from '../output/select-fields.js'

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
const nameMembers: Partial<Record<IdKind, string>> = { apps: 'name', bots: 'username', templates: 'externalTemplateId' }

/** A value that completion and prompts look up on a server. */
export interface IdTarget {
  readonly kind: 'ids'
  readonly of: IdKind
  /** The words before the value. */
  readonly line: {
    readonly path: readonly string[]
    readonly given: FlagTexts
    readonly operands: readonly string[]
    /** Command of the line; its endpoint says which records it accepts. */
    readonly leaf?: Pick<Leaf, 'endpoint'> | undefined
  }
}

const LIMIT = 100

export interface Limits {
  /** Milliseconds to wait for ids, counted from the request; with 0 none is sent. */
  readonly waitMs: number
  /** Maximum number of pages to fetch; default: 1. */
  readonly pages?: number
  /** True to offer names beside the ids, where a command takes both. */
  readonly names?: boolean
}

/**
 * Fetches ids from the chosen server. It never prompts, retries or prints.
 * @returns undefined if no list arrived in time
 */
export async function liveWords(
  target: IdTarget,
  host: Host,
  { waitMs, pages, names }: Limits,
): Promise<readonly Word[] | undefined> {
  if (waitMs < 1) return undefined
  const source = sourceOf(target)
  const caller = source && (await findCaller(host, target.line.given, source.endpoint.caller))
  if (source === undefined || caller === undefined) return undefined
  const endsAt = performance.now() + waitMs
  const late = pause(waitMs, undefined, { ref: false })
  const fetched = fetchRecords(caller, source, target.of, () => endsAt - performance.now(), pages)
  const records = await Promise.race([fetched, late])
  // Commands do not look up names in the lists of the operator.
  const isNamed = names === true && source.endpoint.caller !== 'operator'
  return records && wordsOf(records, target.line.leaf?.endpoint?.accepts, isNamed)
}

/** Fetches pages until the time limit; undefined without the first page. */
async function fetchRecords(
  caller: Caller,
  source: IdSource,
  kind: IdKind,
  remainingMs: () => number,
  pages = 1,
): Promise<readonly IdRecord[] | undefined> {
  const call = await openCall(caller)
  if (call === undefined) return undefined
  const records: IdRecord[] = []
  for (let page = 1; page <= pages && remainingMs() >= 1; page += 1) {
    const input = page === 1 ? source.input : { ...source.input, page }
    const result = await call(source.endpoint, input as InputOf<Endpoint>, { timeoutMs: Math.ceil(remainingMs()) })
    if (!result.ok && page === 1) return undefined
    if (!result.ok || !isList(result.data)) break
    records.push(...result.data.items.flatMap((it) => recordOf(kind, it) ?? []))
    if ((result.data.pagination?.pages ?? 1) <= page) break
  }
  return records
}

interface IdRecord {
  readonly id: string
  readonly status: string
  readonly summary: string
  /** Name that a command takes in place of the id. */
  readonly name: unknown
}

/** Returns what completion shows of a record; undefined for a record without id. */
function recordOf(kind: IdKind, value: unknown): IdRecord | undefined {
  const { id, status, ...record }: Members = asMembers(value) ?? {}
  if (typeof id !== 'string') return undefined
  const shown = summaryMembers[kind].map((name) => (name === 'status' ? status : record[name]))
  const summary = shown.filter((it) => typeof it === 'string' || typeof it === 'number').join(', ')
  return { id, status: String(status), summary, name: record[nameMembers[kind] ?? ''] }
}

/** Returns the ids with their summaries, and the names that only one record has with its id. */
function wordsOf(records: readonly IdRecord[], accepts: Endpoint['accepts'], isNamed: boolean): readonly Word[] {
  const names = records.map((it) => it.name)
  const isUnique = (name: string) => names.indexOf(name) === names.lastIndexOf(name) && kindOfId(name) === undefined
  const wanted = records.filter(({ status }) => accepts?.includes(status) ?? true)
  return wanted.flatMap(({ id, status, summary, name }) => {
    const isOffered = isNamed && typeof name === 'string' && isUnique(name)
    return [{ value: id, summary }, ...(isOffered ? [{ value: name, summary: `${id}, ${status}` }] : [])]
  })
}

interface IdSource {
  readonly endpoint: Endpoint
  readonly input: Readonly<Record<string, unknown>>
}

const source = <E extends Endpoint>(endpoint: E, input: InputOf<E>): IdSource => ({
  endpoint,
  input: { limit: LIMIT, ...(input as object) },
})

/** Chooses the list call that returns the ids for a command; undefined if the line lacks a flag that the call needs. */
function sourceOf({ of, line: { given, leaf } }: IdTarget): IdSource | undefined {
  const { caller, review, accepts } = leaf?.endpoint ?? {}
  const app = given.get('app')?.[0]
  const bot = given.get('bot')?.[0]
  switch (of) {
    case 'apps':
      return source(apps.list, {})
    case 'tokens':
      return app === undefined ? undefined : source(tokens.list, { appId: app })
    case 'templates': {
      if (review === 'decides') return waiting('template')
      const isActive = accepts?.every((it) => it === 'active')
      const status = isActive ? ({ status: 'active' } as const) : {}
      if (caller === 'operator') return source(platform.templates, status)
      if (bot === undefined) return source(templates.list, status)
      return source(bots.templates, { botId: bot, ...status })
    }
    case 'bots':
      return review === 'decides' ? waiting('bot') : source(bots.list, {})
    case 'chats':
      return source(platform.chats, bot === undefined ? {} : { bot_id: bot })
    case 'deliveries':
      if (caller === 'operator') return source(deliveries.deliveries, {})
      return bot === undefined ? undefined : source(webhook.deliveries, { botId: bot })
    case 'faults':
      return { endpoint: controls.faults, input: {} }
  }
}

/** Describes the call that lists pending reviews, which has no pages. */
function waiting(kind: 'template' | 'bot'): IdSource {
  return { endpoint: platform.reviews, input: { kind } }
}

/** Settings of a call, found without a call to the chosen server. */
interface Caller {
  readonly options: Parameters<typeof openPlain>[0]
  readonly base: string
  /** Finds the credential. A local server must prove itself first. */
  credential(): ReturnType<typeof findCredential>
}

/** Finds the stored settings of the chosen server; undefined without a server. */
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
  const output = new Output(host, { format: 'json', quiet: true })
  return {
    options: { globals, settings, host, output },
    base,
    credential: () => findCredential(host, globals, settings, kind, base),
  }
}

/** Opens calls; undefined without a credential, or if a process other than the profile's server listens on its port. */
async function openCall({ options, base, credential }: Caller): Promise<Call | undefined> {
  const { settings } = options
  const found = await credential()
  if (!found.ok || (await refuseImpostor(settings, base)) !== undefined) return undefined
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
  return createCall(transport, { token: found.value })
}
