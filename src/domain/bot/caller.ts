import { type Refusal, refuse } from '../../contract/errors.js'
import { type ApplicationPolicy, refuseForApplication } from '../application.js'
import type { BotRow } from './rows.js'

/** A bot token with its bot and the linked application, read in one joined row. */
export type BotCallerRow = Pick<BotRow, 'account_id' | 'scopes'> & {
  readonly revoked_at: number | null
  readonly bot_id: string
  readonly bot_status: BotRow['status']
} & (({ readonly application_id: string } & ApplicationPolicy) | { readonly application_id: null })

/**
 * Checks a call with a bot token in the order of rules/calls.md#order-of-checks: the token, the bot, its application,
 * the scope of the bot, the missing link. Null if the call is allowed.
 * @param origin as for `refuseForApplication`
 */
export function refuseBotCall(
  row: BotCallerRow | undefined,
  endpoint: { readonly scope?: string; readonly linked?: true },
  origin: string | null = null,
):
  | Refusal<'TOKEN_INVALID' | 'TOKEN_REVOKED' | 'BOT_DISABLED' | 'INSUFFICIENT_SCOPE' | 'BOT_NOT_LINKED'>
  | ReturnType<typeof refuseForApplication> {
  if (row === undefined) return refuse('TOKEN_INVALID')
  if (row.revoked_at !== null) return refuse('TOKEN_REVOKED')
  if (row.bot_status !== 'active') return refuse('BOT_DISABLED', { bot_id: row.bot_id })
  const application = endpoint.linked && row.application_id !== null ? row : null
  const refusal = application === null ? null : refuseForApplication(application, origin)
  if (refusal !== null) return refusal
  if (endpoint.scope !== undefined && !row.scopes.includes(`"${endpoint.scope}"`)) {
    return refuse('INSUFFICIENT_SCOPE', { required_scope: endpoint.scope })
  }
  if (endpoint.linked && application === null) return refuse('BOT_NOT_LINKED')
  return null
}
