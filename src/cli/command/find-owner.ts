import { apps } from '../../contract/apps.js'
import { bots } from '../../contract/bots.js'
import type { Endpoint, InputOf } from '../../contract/endpoint.js'
import type { FailureCode } from '../../contract/errors.js'
import { tokens } from '../../contract/tokens.js'
import { webhook } from '../../contract/webhook.js'
import { asMembers, type Members } from '../../values/json.js'
import { findCredential } from '../config/credentials.js'
import { type Failure, fail, suggested } from '../failures/failure.js'
import { missingId } from '../failures/ids.js'
import type { OwnedKind } from '../flags/flags.js'
import { isList } from '../output/select-fields.js'
import type { Context, Ok } from './context.js'

/** Maximum number of calls of one search. */
const CALLS_MAX = 50
const LIMIT = 100

/** The calls that list the owners of a kind of record, and the records of each owner. */
interface Ownership {
  readonly record: string
  readonly owner: 'application' | 'bot'
  readonly owners: Endpoint
  readonly records: Endpoint
  /** Path parameter that names the owner, and the member that names the record. */
  readonly parameter: 'appId' | 'botId'
  readonly member: string
  readonly code: FailureCode
  readonly isRecord: (record: Members, id: string) => boolean
  readonly listOf: (owner: string) => string
}

const ownerships: Readonly<Record<Exclude<OwnedKind, 'linkedBots'>, Ownership>> = {
  tokens: {
    record: 'token',
    owner: 'application',
    owners: apps.list,
    records: tokens.list,
    parameter: 'appId',
    member: 'tokenId',
    code: 'TOKEN_NOT_FOUND',
    isRecord: (it, id) => it.id === id,
    listOf: (owner) => suggested`tokens list --app ${owner}`,
  },
  templates: {
    record: 'template',
    owner: 'bot',
    owners: bots.list,
    records: bots.templates,
    parameter: 'botId',
    member: 'templateId',
    code: 'TEMPLATE_NOT_FOUND',
    isRecord: (it, id) => it.id === id || it.externalTemplateId === id,
    listOf: (owner) => suggested`templates list --bot ${owner}`,
  },
  deliveries: {
    record: 'delivery',
    owner: 'bot',
    owners: bots.list,
    records: webhook.deliveries,
    parameter: 'botId',
    member: 'deliveryId',
    code: 'DELIVERY_NOT_FOUND',
    isRecord: (it, id) => it.id === id,
    listOf: (owner) => suggested`webhook deliveries ${owner}`,
  },
}

const listCommand = { application: '`voucherctl apps list`', bot: '`voucherctl bots list`' }
const flagOf = { application: '--app', bot: '--bot' }
const placeholders = { application: 'APP_ID', bot: 'BOT_ID' }

/**
 * Finds the application or bot of a record by reading lists (DECISIONS.md#owners); undefined if the application token
 * decides. A failure with the code INPUT_REQUIRED means that the user must name the owner.
 */
export async function findOwner(
  context: Context,
  kind: OwnedKind,
  id: string,
): Promise<Ok<string | undefined> | Failure> {
  if (kind === 'linkedBots') return findLinkedBot(context, id)
  if (kind === 'templates' && (await hasApplicationToken(context))) return { ok: true, value: undefined }
  const ownership = ownerships[kind]
  const { record, owner, owners, listOf, code, member } = ownership
  const listed = await context.call(owners, { limit: LIMIT } as InputOf<Endpoint>)
  if (!listed.ok) {
    if (!('plan' in listed)) return listed
    context.plan(`read the ${record} list of each ${owner}, unless there is only one, until one has ${id}`)
    return { ok: true, value: placeholders[owner] }
  }
  const ids = idsOf(listed.data)
  const [first] = ids
  if (first === undefined) return unknown(owner, `This account has no ${owner}, so ${id} has none.`)
  if (ids.length === 1) return { ok: true, value: first }
  if (kind === 'deliveries' && /^\d+$/.test(id))
    return unknown(owner, `Each of the ${ids.length} bots may have an update ${id}.`)
  const search = { calls: 1 }
  for (const value of ids) {
    const found = await searchOwner(context, ownership, value, id, search)
    if (typeof found === 'object') return found
    if (found) return { ok: true, value }
  }
  const about = missingId(code, { [member]: id })
  const hint = `The ${owner}s: ${listCommand[owner]}. The ${kind} of the first: ${listOf(first)}.`
  const message = `None of the ${ids.length} ${owner}s of this account has the ${record} ${id}.`
  return { ...fail('UNEXPECTED', message, hint), code, ...(about?.startsWith(id) ? { about: [about] } : {}) }
}

/** Returns whether an owner has the record. @param search counts the calls of all owners */
async function searchOwner(
  context: Context,
  { owner, records, parameter, isRecord }: Ownership,
  value: string,
  id: string,
  search: { calls: number },
): Promise<boolean | Failure> {
  for (let page = 1, pages = 1; page <= pages; page += 1) {
    if (search.calls >= CALLS_MAX) return unknown(owner, `The ${owner} of ${id} was not found with ${CALLS_MAX} calls.`)
    search.calls += 1
    const fetched = await context.call(records, { [parameter]: value, limit: LIMIT, page } as InputOf<Endpoint>)
    if (!fetched.ok) {
      // Another owner may have the record although this one is suspended or not approved.
      const isSkipped = 'plan' in fetched || [403, 404, 409].includes(fetched.status ?? 0)
      return isSkipped ? false : fetched
    }
    if (!isList(fetched.data)) return false
    if (fetched.data.items.some((record) => isRecord(asMembers(record) ?? {}, id))) return true
    pages = Number(fetched.data.pagination?.pages ?? 1)
  }
  return false
}

/** Finds the bot that is linked to an application if it is the only one. */
async function findLinkedBot({ call, plan }: Context, appId: string): Promise<Ok<string> | Failure> {
  const fetched = await call(apps.get, { appId })
  if (!fetched.ok) {
    if (!('plan' in fetched)) return fetched
    plan('take the bot that is linked to it, if it is the only one')
    return { ok: true, value: placeholders.bot }
  }
  const linked = Array.isArray(fetched.data.linkedBots) ? fetched.data.linkedBots.map((it) => it.botId) : []
  const [only] = linked
  if (only !== undefined && linked.length === 1) return { ok: true, value: only }
  if (only === undefined) return unknown('bot', `No bot is linked to ${appId}.`)
  const hint = `Name one with --bot: ${suggested`apps unlink-bot ${appId} --bot ${only}`}.`
  return fail('INPUT_REQUIRED', `${linked.length} bots are linked to ${appId}: ${linked.join(', ')}.`, hint)
}

const unknown = (owner: Ownership['owner'], message: string) =>
  fail('INPUT_REQUIRED', message, `Name the ${owner} with ${flagOf[owner]}; ${listCommand[owner]} shows them.`)

const idsOf = (data: unknown): readonly string[] =>
  isList(data) ? data.items.map((it) => asMembers(it)?.id).filter((it) => typeof it === 'string') : []

/** True if an application token is at hand, or no JWT with which bots could be listed. */
async function hasApplicationToken({ host, globals, settings, baseUrl }: Context): Promise<boolean> {
  const base = baseUrl()
  if (!base.ok) return true
  const [token, jwt] = await Promise.all(
    (['token', 'jwt'] as const).map((kind) => findCredential(host, globals, settings, kind, base.value)),
  )
  return token?.ok === true || jwt?.ok !== true
}
