import { type Refusal, refuse } from '../contract/errors.js'
import { applicationStatus } from './application.js'
import type { BotRow } from './bot-rows.js'
import type { ApplicationRow } from './rows.js'

/** A bot token with its bot, and the application that the bot is linked to. */
export interface BotCallerRow {
  readonly revoked_at: number | null
  readonly bot_id: string
  readonly account_id: string
  readonly bot_status: BotRow['status']
  readonly scopes: string
  readonly application_id: string | null
  /** Of the application; null without one. */
  readonly status: ApplicationRow['status'] | null
  readonly suspended: number | null
  readonly features: string | null
}

/**
 * Whether a bot token may make a call, in the order of decisions.md 1: 401 for the token, 403 for the bot, for the
 * application that it acts for, its feature, the bot's scope, and the missing link. Null when it may.
 */
export function refuseBotCall(
  row: BotCallerRow | undefined,
  endpoint: { readonly scope?: string; readonly linked?: true },
): Refusal<
  | 'TOKEN_INVALID'
  | 'TOKEN_REVOKED'
  | 'BOT_DISABLED'
  | 'APPLICATION_DISABLED'
  | 'FEATURE_UNAVAILABLE'
  | 'INSUFFICIENT_SCOPE'
  | 'BOT_NOT_LINKED'
> | null {
  if (row === undefined) return refuse('TOKEN_INVALID')
  if (row.revoked_at !== null) return refuse('TOKEN_REVOKED')
  if (row.bot_status !== 'active') return refuse('BOT_DISABLED')
  const { status, suspended, features } = row
  if (endpoint.linked && status !== null && suspended !== null) {
    const application = applicationStatus({ status, suspended })
    if (application !== 'active') return refuse('APPLICATION_DISABLED', { status: application })
    if (!features?.includes('"vouchers"')) return refuse('FEATURE_UNAVAILABLE')
  }
  if (endpoint.scope !== undefined && !row.scopes.includes(`"${endpoint.scope}"`)) {
    return refuse('INSUFFICIENT_SCOPE', { required_scope: endpoint.scope })
  }
  if (endpoint.linked && row.application_id === null) return refuse('BOT_NOT_LINKED')
  return null
}
