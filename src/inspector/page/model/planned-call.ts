import { HIDDEN } from '../../../contract/platform/captured.js'
import { shellWord } from '../../../values/shell-word.js'
import { type Call, requestOf, type Sent } from './copy-as.js'

const API = '/_platform/v1'
const VOUCHERS = '/api/v1/open-platform/vouchers'

/** Calls of the page's actions: method, path, and the command, in which `:name` stands for a member of the input. */
export const plannable = {
  'vouchers.verify': ['POST', `${VOUCHERS}/verify`, 'vouchers verify -'],
  'vouchers.redeem': ['POST', `${VOUCHERS}/redeem`, 'vouchers redeem -'],
  'vouchers.reverse': ['POST', `${VOUCHERS}/redemptions/:redemptionId/reverse`, 'vouchers reverse :redemptionId'],
  'vouchers.issue': ['POST', `${VOUCHERS}/issue`, 'vouchers issue'],
  'templates.submit': ['POST', `${VOUCHERS}/templates/:templateId/submit`, 'templates submit :templateId'],
  'platform.approveTemplate': [
    'POST',
    `${API}/templates/:templateId/approve`,
    'platform templates approve :templateId',
  ],
  'platform.rejectTemplate': ['POST', `${API}/templates/:templateId/reject`, 'platform templates reject :templateId'],
  'platform.approveBot': ['POST', `${API}/bots/:botId/approve`, 'platform bots approve :botId'],
  'platform.rejectBot': ['POST', `${API}/bots/:botId/reject`, 'platform bots reject :botId'],
  'platform.createChat': ['POST', `${API}/chats`, 'platform users start'],
  'platform.sendAsUser': ['POST', `${API}/chats/:chatId/messages`, 'platform users send :chatId'],
  'platform.blockChat': ['POST', `${API}/chats/:chatId/block`, 'platform users block :chatId'],
  'platform.unblockChat': ['POST', `${API}/chats/:chatId/unblock`, 'platform users unblock :chatId'],
  'platform.setClock': ['PUT', `${API}/clock`, 'platform clock set :now'],
  // No dedicated command makes these.
  'platform.showCredentials': ['POST', `${API}/vouchers/:voucherId/credentials`, ''],
  'platform.seedStore': ['POST', `${API}/seed`, ''],
} as const

/** Flags of the commands that are not named like the member. */
const flags: Readonly<Record<string, string>> = {
  template_id: 'template',
  external_issue_id: 'external-id',
  recipient_user_id: 'recipient',
  bot_id: 'bot',
  user_id: 'user',
}

/** A call that an action of the page makes, in the form in which a program would make it. */
export interface PlannedCall {
  readonly endpoint: keyof typeof plannable
  /** Members of path and body by name; an empty one is omitted. */
  readonly input: Readonly<Record<string, string>>
  readonly idempotencyKey?: string
  /** Application as which the operator makes a runtime call. */
  readonly applicationId?: string
  /** Voucher whose credential the server adds to the call: the page does not have the code. */
  readonly voucherId?: string
}

const fill = (template: string, { input }: PlannedCall, escape: (value: string) => string) =>
  template.replace(/:(\w+)/g, (_, name: string) => escape(input[name] ?? ''))

export const pathOf = (planned: PlannedCall): string =>
  fill(plannable[planned.endpoint][1], planned, encodeURIComponent)

const othersThan = (template: string, { input }: PlannedCall) =>
  Object.entries(input).filter(([name, value]) => value !== '' && !template.includes(`:${name}`))

/** Members of the body; the credential of a voucher is hidden. */
export const bodyOf = (planned: PlannedCall): Readonly<Record<string, unknown>> => ({
  ...(planned.voucherId && { credential: { type: 'redeem_code', value: HIDDEN } }),
  ...Object.fromEntries(othersThan(plannable[planned.endpoint][1], planned)),
})

/** The call in the form of the request log, as CopyAs reads it. */
export function loggedCallOf({ endpoint }: PlannedCall): Call {
  const [method, path] = plannable[endpoint]
  return { endpoint, method, path, status: endpoint === 'vouchers.issue' ? 201 : 200, code: null }
}

export function plannedRequestOf(planned: PlannedCall): Sent {
  const body = bodyOf(planned)
  const key = planned.idempotencyKey
  const sent = Object.keys(body).length > 0 ? body : undefined
  return requestOf(plannable[planned.endpoint][0], pathOf(planned), sent, key ? [['Idempotency-Key', key]] : [])
}

/** The same call with the command line; undefined if no dedicated command makes it. */
export function commandLineOf(planned: PlannedCall): string | undefined {
  const template = plannable[planned.endpoint][2]
  if (template === '') return undefined
  const given = othersThan(template, planned).map(([name, value]) => [flags[name] ?? name, value] as const)
  const key = planned.idempotencyKey ? ([['idempotency-key', planned.idempotencyKey]] as const) : []
  const words = [...given, ...key].map(([name, value]) => ` --${name} ${shellWord(value)}`)
  const command = `voucherctl ${fill(template, planned, shellWord)}${words.join('')}`
  return planned.voucherId ? `printf %s "$SECRET" | ${command}` : command
}
