import { platform, platformUpdateTypes } from '../../contract/platform/platform.js'
import type { UpdateType } from '../../contract/updates.js'
import type { Override } from '../../workbench/synthetic.js'
import type { Context } from '../command/context.js'
import { type Failure, suggested, usage } from '../failures/failure.js'
import type { Plan, Result } from '../output/outcome.js'

export interface RequestedUpdate {
  readonly time: string
  readonly bot_id: string
  readonly type: string
  /** Id of the update; null for a message, because the server does not return it. */
  readonly update_id: number | null
}

export interface UpdateRequest {
  readonly botId: string
  readonly type: UpdateType
  readonly overrides: readonly Override[]
}

const USER = 'user-42'

/** Members that a request can set, by update type; the server sets the others. */
const settable: Readonly<Partial<Record<UpdateType, readonly string[]>>> = {
  message: ['message.from.id', 'message.text'],
  friend_request: ['friend_request.id', 'friend_request.from.id', 'friend_request.date'],
  inline_query: ['inline_query.id', 'inline_query.from.id', 'inline_query.query'],
  ping: [],
}

const instead: Readonly<Partial<Record<UpdateType, string>>> = {
  my_chat_member: '`voucherctl platform users start` or `voucherctl platform users block`',
  voucher_issued: '`voucherctl vouchers issue`',
  voucher_redeemed: '`voucherctl vouchers redeem`',
  voucher_reversed: '`voucherctl vouchers reverse`',
}

/** Returns why the server does not make such an update on request; undefined if it does. */
export function refuseUpdate({ type, overrides }: UpdateRequest): Failure | undefined {
  const known = settable[type]
  if (known === undefined) {
    return usage(`A server makes a ${type} update when that happens.`, `Let it happen: ${instead[type]}.`)
  }
  const other = overrides.find(({ path }) => !known.includes(path))
  if (other === undefined) return undefined
  const names = known.length === 0 ? 'nothing' : known.join(', ')
  return usage(`--set: the server decides ${other.path} of a ${type} update.`, `With --bot, ${names} can be set.`)
}

/** Lets the server make updates for a bot through the operator API, and yields each. */
export async function* makeUpdates(
  context: Context,
  request: UpdateRequest,
  count: number,
): AsyncGenerator<RequestedUpdate, Failure | undefined> {
  for (let index = 0; index < count; index += 1) {
    const made = await makeUpdate(context, request)
    if (!made.ok) return 'plan' in made ? undefined : made
    const time = new Date(context.host.now()).toISOString()
    yield { time, bot_id: request.botId, type: request.type, update_id: made.data }
  }
  return undefined
}

/** Makes one update and returns its id; a dry run returns the plan. */
export async function makeUpdate(
  { call }: Context,
  { botId, type, overrides }: UpdateRequest,
): Promise<Result<number | null> | Plan | Failure> {
  const set = new Map(overrides.map(({ path, value }) => [path.slice(type.length + 1), value]))
  const user = String(set.get('from.id') ?? USER)
  const check = suggested`webhook deliveries ${botId}`
  const kind = platformUpdateTypes.find((it) => it === type)
  if (kind === undefined) {
    // Messages need a chat, and creating the chat makes another update.
    const chat = await call(platform.createChat, { bot_id: botId, user_id: user })
    if (!chat.ok) return chat
    const words = String(set.get('text') ?? 'Hello, one coffee please')
    const sent = await call(platform.sendAsUser, { chatId: chat.data.id, text: words }, { check })
    return sent.ok ? { ok: true, data: null } : sent
  }
  const given = Object.fromEntries([...set].filter(([path]) => path !== 'from.id'))
  const defaults = kind === 'inline_query' ? { query: 'coffee' } : {}
  const payload = kind === 'ping' ? {} : { payload: { ...defaults, ...given, from: { id: user } } }
  const made = await call(platform.addUpdate, { botId, type: kind, ...payload }, { check })
  return made.ok ? { ok: true, data: made.data?.update_id ?? null } : made
}
