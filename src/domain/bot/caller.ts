import { type Refusal, refuse } from '../../contract/errors.js'
import { type ApplicationPolicy, refuseForApplication } from '../application.js'
import type { ApplicationRow } from '../rows.js'
import type { BotRow } from './rows.js'

/** A bot token with its bot, and the application that the bot is linked to. */
export interface BotCallerRow {
  readonly revoked_at: number | null
  readonly bot_id: string
  readonly account_id: string
  readonly bot_status: BotRow['status']
  readonly scopes: string
  readonly application_id: string | null
  /** Of the application, as the other members below; null without one. */
  readonly status: ApplicationRow['status'] | null
  readonly suspended: number | null
  readonly features: string | null
  readonly secure_transport: ApplicationRow['secure_transport'] | null
  readonly allowed_origins: string | null
}

/**
 * Why a bot token may not make a call, in the order of DECISIONS.md#order-of-checks: the token, the bot, its
 * application, the scope of the bot, the missing link. Null if it may.
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
  if (row.bot_status !== 'active') return refuse('BOT_DISABLED')
  const application = endpoint.linked ? linkedApplication(row) : null
  const refusal = application === null ? null : refuseForApplication(application, origin)
  if (refusal !== null) return refusal
  if (endpoint.scope !== undefined && !row.scopes.includes(`"${endpoint.scope}"`)) {
    return refuse('INSUFFICIENT_SCOPE', { required_scope: endpoint.scope })
  }
  if (endpoint.linked && application === null) return refuse('BOT_NOT_LINKED')
  return null
}

function linkedApplication(row: BotCallerRow): ApplicationPolicy | null {
  const { application_id: id, status, suspended, features, secure_transport, allowed_origins } = row
  if (id === null || status === null || suspended === null || features === null) return null
  if (secure_transport === null || allowed_origins === null) return null
  return { status, suspended, features, secure_transport, allowed_origins }
}
