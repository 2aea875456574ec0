import { platform, platformUpdateTypes } from '../../../contract/platform/platform.js'
import type { UpdateType } from '../../../contract/updates.js'
import type { Override } from '../../../workbench/synthetic.js'
import type { Context } from '../../command/context.js'
import { type Failure, suggested, usage } from '../../failures/failure.js'
import type { Outcome, Plan, Result } from '../../output/outcome.js'

/** An update that the server created on request. */
export interface RequestedUpdate {
  readonly time: string
  readonly bot_id: string
  readonly type: string
  /** Id of the update; null for a message, because the server does not return it. */
  readonly update_id: number | null
}

interface UpdateRequest {
  readonly botId: string
  readonly type: UpdateType
  readonly overrides: readonly Override[]
  readonly count: number
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

/** Lets the server create updates for a bot through the operator API. */
export async function makeUpdates(context: Context, request: UpdateRequest): Promise<Outcome<unknown>> {
  const { type, overrides, count } = request
  const known = settable[type]
  if (known === undefined) {
    return usage(`A server makes a ${type} update when that happens.`, `Let it happen: ${instead[type]}.`)
  }
  const other = overrides.find(({ path }) => !known.includes(path))
  if (other !== undefined) {
    const names = known.length === 0 ? 'nothing' : known.join(', ')
    return usage(`--set: the server decides ${other.path} of a ${type} update.`, `With --bot, ${names} can be set.`)
  }
  if (context.dryRun) return make(context, request)
  return { ok: true, lines: lines(context, request, count) }
}

async function* lines(
  context: Context,
  request: UpdateRequest,
  count: number,
): AsyncGenerator<RequestedUpdate, Failure | undefined> {
  for (let index = 0; index < count; index += 1) {
    const made = await make(context, request)
    if (!made.ok) return 'plan' in made ? undefined : made
    const time = new Date(context.host.now()).toISOString()
    yield { time, bot_id: request.botId, type: request.type, update_id: made.data }
  }
  return undefined
}

async function make({ call }: Context, request: UpdateRequest): Promise<Result<number | null> | Plan | Failure> {
  const { botId, type, overrides } = request
  const set = new Map(overrides.map(({ path, value }) => [path.slice(type.length + 1), value]))
  const user = String(set.get('from.id') ?? USER)
  const check = suggested`webhook deliveries ${botId}`
  const kind = platformUpdateTypes.find((it) => it === type)
  if (kind === undefined) {
    // Messages need a chat, and creating the chat makes an update of its own.
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
