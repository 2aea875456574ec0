import { apps } from '../../contract/apps.js'
import { bots } from '../../contract/bots.js'
import type { Endpoint, InputOf } from '../../contract/endpoint.js'
import { tokens } from '../../contract/tokens.js'
import { webhook } from '../../contract/webhook.js'
import { asMembers, type Members } from '../../values/json.js'
import { findCredential } from '../config/credentials.js'
import { type Failure, fail, suggested } from '../failures/failure.js'
import { missingId } from '../failures/ids.js'
import type { OwnedKind } from '../flags/flags.js'
import { isList } from '../output/select-fields.js'
import type { Context, Ok } from './context.js'

const CALLS_MAX = 50
const LIMIT = 100

/** How owners are listed and named in calls and commands. */
const owners = {
  application: { list: apps.list, command: 'apps list', parameter: 'appId', flag: '--app', placeholder: 'APP_ID' },
  bot: { list: bots.list, command: 'bots list', parameter: 'botId', flag: '--bot', placeholder: 'BOT_ID' },
}

/** The call and the command that list the records of an owner. */
interface Ownership {
  readonly owner: keyof typeof owners
  readonly record: 'token' | 'template' | 'delivery'
  readonly list: Endpoint
  readonly command: (owner: string) => string
}

const ownerships: Readonly<Record<Exclude<OwnedKind, 'linkedBots'>, Ownership>> = {
  tokens: {
    owner: 'application',
    record: 'token',
    list: tokens.list,
    command: (id) => suggested`tokens list --app ${id}`,
  },
  templates: {
    owner: 'bot',
    record: 'template',
    list: bots.templates,
    command: (id) => suggested`templates list --bot ${id}`,
  },
  deliveries: {
    owner: 'bot',
    record: 'delivery',
    list: webhook.deliveries,
    command: (id) => suggested`webhook deliveries ${id}`,
  },
}

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
  const { owner, record, command } = ownership
  const { list, placeholder } = owners[owner]
  const listed = await context.call<Endpoint>(list, { limit: LIMIT } as InputOf<Endpoint>)
  if (!listed.ok) {
    if (!('plan' in listed)) return listed
    context.plan(`read the ${record} list of each ${owner}, unless there is only one, until one has ${id}`)
    return { ok: true, value: placeholder }
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
  const code = `${record.toUpperCase()}_NOT_FOUND`
  const about = missingId(code, { [`${record}Id`]: id })
  const hint = `The ${owner}s: \`voucherctl ${owners[owner].command}\`. The ${kind} of the first: ${command(first)}.`
  const message = `None of the ${ids.length} ${owner}s of this account has the ${record} ${id}.`
  return { ...fail('UNEXPECTED', message, hint), code, ...(about?.startsWith(id) ? { about: [about] } : {}) }
}

/** Returns whether an owner has the record. @param search counts the calls of all owners */
async function searchOwner(
  context: Context,
  { owner, list }: Ownership,
  value: string,
  id: string,
  search: { calls: number },
): Promise<boolean | Failure> {
  for (let page = 1, pages = 1; page <= pages; page += 1) {
    if (search.calls >= CALLS_MAX) return unknown(owner, `The ${owner} of ${id} was not found with ${CALLS_MAX} calls.`)
    search.calls += 1
    const fetched = await context.call(list, {
      [owners[owner].parameter]: value,
      limit: LIMIT,
      page,
    } as InputOf<Endpoint>)
    if (!fetched.ok) {
      // Another owner may have the record although this one is suspended or not approved.
      const isSkipped = 'plan' in fetched || [403, 404, 409].includes(fetched.status ?? 0)
      return isSkipped ? false : fetched
    }
    if (!isList(fetched.data)) return false
    if (fetched.data.items.some((record) => isNamed(asMembers(record) ?? {}, id))) return true
    pages = Number(fetched.data.pagination?.pages ?? 1)
  }
  return false
}

const isNamed = ({ id, externalTemplateId }: Members, name: string) => id === name || externalTemplateId === name

/** Finds the bot that is linked to an application if it is the only one. */
async function findLinkedBot({ call, plan }: Context, appId: string): Promise<Ok<string> | Failure> {
  const fetched = await call(apps.get, { appId })
  if (!fetched.ok) {
    if (!('plan' in fetched)) return fetched
    plan('take the bot that is linked to it, if it is the only one')
    return { ok: true, value: owners.bot.placeholder }
  }
  const linked = Array.isArray(fetched.data.linkedBots) ? fetched.data.linkedBots.map((it) => it.botId) : []
  const [only] = linked
  if (only !== undefined && linked.length === 1) return { ok: true, value: only }
  if (only === undefined) return unknown('bot', `No bot is linked to ${appId}.`)
  const hint = `Name one with --bot: ${suggested`apps unlink-bot ${appId} --bot ${only}`}.`
  return fail('INPUT_REQUIRED', `${linked.length} bots are linked to ${appId}: ${linked.join(', ')}.`, hint)
}

function unknown(owner: Ownership['owner'], message: string): Failure {
  const { flag, command } = owners[owner]
  return fail('INPUT_REQUIRED', message, `Name the ${owner} with ${flag}; \`voucherctl ${command}\` shows them.`)
}

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
