import { apps } from '../../contract/apps.js'
import { bots } from '../../contract/bots.js'
import type { Endpoint, InputOf } from '../../contract/endpoint.js'
import { asMembers } from '../../values/json.js'
import { findCredential } from '../config/credentials.js'
import { type Failure, fail, suggested } from '../failures/failure.js'
import type { OwnedKind } from '../flags/flags.js'
import { isList } from '../output/select-fields.js'
import type { Context, Ok } from './context.js'

const owners = {
  application: { list: apps.list, command: 'apps list', flag: '--app' },
  bot: { list: bots.list, command: 'bots list', flag: '--bot' },
}

const ownerOf = { tokens: 'application', templates: 'bot', deliveries: 'bot' } as const

/**
 * Finds the owner (application or bot) of a record if the account has only one (rules/cli.md#owners); undefined if the
 * application token decides. A failure with the code INPUT_REQUIRED means that the user must name the owner.
 */
export async function findOwner(
  context: Context,
  kind: OwnedKind,
  id: string,
): Promise<Ok<string | undefined> | Failure> {
  if (kind === 'linkedBots') return findLinkedBot(context, id)
  if (kind === 'templates' && (await hasApplicationToken(context))) return { ok: true, value: undefined }
  const owner = ownerOf[kind]
  const listed = await context.lookUp<Endpoint>(owners[owner].list, { limit: 2 } as InputOf<Endpoint>)
  if (!listed.ok) return listed
  const [only, another] = idsOf(listed.data)
  if (only === undefined) return unknown(owner, `This account has no ${owner}, so ${id} has none.`)
  if (another === undefined) return { ok: true, value: only }
  return unknown(owner, `This account has several ${owner}s, and ${id} may belong to any of them.`)
}

/** Finds the bot that is linked to an application if it is the only one. */
async function findLinkedBot({ lookUp }: Context, appId: string): Promise<Ok<string> | Failure> {
  const fetched = await lookUp(apps.get, { appId })
  if (!fetched.ok) return fetched
  const linked = Array.isArray(fetched.data.linkedBots) ? fetched.data.linkedBots.map((it) => it.botId) : []
  const [only] = linked
  if (only !== undefined && linked.length === 1) return { ok: true, value: only }
  if (only === undefined) return unknown('bot', `No bot is linked to ${appId}.`)
  const hint = `Name one with --bot: ${suggested`apps unlink-bot ${appId} --bot ${only}`}.`
  return fail('INPUT_REQUIRED', `${linked.length} bots are linked to ${appId}: ${linked.join(', ')}.`, hint)
}

function unknown(owner: keyof typeof owners, message: string): Failure {
  const { flag, command } = owners[owner]
  return fail('INPUT_REQUIRED', message, `Name the ${owner} with ${flag}; \`voucherctl ${command}\` shows them.`)
}

const idsOf = (data: unknown): readonly string[] =>
  isList(data) ? data.items.map((it) => asMembers(it)?.id).filter((it) => typeof it === 'string') : []

/** True if an application token is available, or no JWT with which to list bots. */
async function hasApplicationToken({ host, globals, settings, baseUrl }: Context): Promise<boolean> {
  const base = baseUrl()
  if (!base.ok) return true
  const [token, jwt] = await Promise.all(
    (['token', 'jwt'] as const).map((kind) => findCredential(host, globals, settings, kind, base.value)),
  )
  return token?.ok === true || jwt?.ok !== true
}
