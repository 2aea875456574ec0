import { redactCode } from '../../contract/secrets.js'
import { asMembers } from '../../values/json.js'

/** Kind of resource by id prefix (rules/calls.md#ids). */
export const idKinds: Readonly<Record<string, string>> = {
  app: 'an application',
  tok: 'an application token',
  tpl: 'a template',
  vch: 'a voucher',
  rdm: 'a redemption',
  bot: 'a bot',
  dlv: 'a delivery',
  chat: 'a chat',
  req: 'a request',
  flt: 'a fault',
}

/** Prefix of the ids that a code reports as not found, and the members of a call that hold such an id. */
const notFound: Readonly<Record<string, readonly [prefix: string, ...members: string[]]>> = {
  APPLICATION_NOT_FOUND: ['app', 'appId'],
  TOKEN_NOT_FOUND: ['tok', 'tokenId'],
  TEMPLATE_NOT_FOUND: ['tpl', 'templateId', 'template_id'],
  VOUCHER_NOT_FOUND: ['vch', 'voucherId'],
  REDEMPTION_NOT_FOUND: ['rdm', 'redemptionId'],
  BOT_NOT_FOUND: ['bot', 'botId', 'bot_id'],
  CHAT_NOT_FOUND: ['chat', 'chatId', 'chat_id'],
  DELIVERY_NOT_FOUND: ['dlv', 'deliveryId'],
  FAULT_NOT_FOUND: ['flt', 'faultId'],
}

/** Describes the id that was not found, and the kind of resource if the prefix belongs to another kind. */
export function missingId(code: string, input: Readonly<Record<string, unknown>>): string | undefined {
  if (code === 'VOUCHER_NOT_FOUND' && input.credential !== undefined) return missingCode(input.credential)
  if (!Object.hasOwn(notFound, code)) return undefined
  const [prefix = '', ...members] = notFound[code] ?? []
  const id = members.map((it) => input[it]).find((it) => typeof it === 'string' && it !== '') as string | undefined
  if (id === undefined) return undefined
  const given = id.slice(0, id.indexOf('_'))
  if (given !== prefix && Object.hasOwn(idKinds, given))
    return `${id} is the id of ${idKinds[given]}; that of ${idKinds[prefix]} begins with ${prefix}_.`
  return `not found: ${id}`
}

/** Says which kind of id stands in place of a code. Does not repeat the id, because output hides typed codes. */
export function idAsCode(credential: unknown): string | undefined {
  const { value } = asMembers(credential) ?? {}
  if (typeof value !== 'string') return undefined
  const prefix = value.slice(0, value.indexOf('_'))
  return Object.hasOwn(idKinds, prefix) ? `${prefix}_… is the id of ${idKinds[prefix]}, not a code.` : undefined
}

function missingCode(credential: unknown): string | undefined {
  const { type, value } = asMembers(credential) ?? {}
  if (typeof value !== 'string') return undefined
  return idAsCode(credential) ?? `not found: ${type === 'qr_token' ? 'QR token' : 'code'} ${redactCode(value)}`
}
