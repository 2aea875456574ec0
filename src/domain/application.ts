import type { Application } from '../contract/apps.js'
import { type Refusal, refuse } from '../contract/errors.js'
import type { Token } from '../contract/tokens.js'
import type { ApplicationRow, TokenRow } from './rows.js'
import { formatInstant } from './time.js'

/** decisions.md 2. */
export const APPLICATIONS_PER_ACCOUNT = 50
export const ACTIVE_TOKENS_PER_APPLICATION = 20
export const TOKEN_LIFETIME_DAYS = 365

/** A suspension hides what the owner chose, and keeps it. */
export function applicationStatus(row: Pick<ApplicationRow, 'status' | 'suspended'>): Application['status'] {
  return row.suspended === 1 ? 'suspended' : row.status
}

export type LinkedBot = Application['linkedBots'][number]

/** @param linkedBots in the order of their linking */
export function applicationRecord(row: ApplicationRow, linkedBots: LinkedBot[]): Application {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    status: applicationStatus(row),
    features: JSON.parse(row.features),
    allowedOrigins: JSON.parse(row.allowed_origins),
    secureTransport: row.secure_transport,
    linkedBots,
    createdAt: formatInstant(row.created_at),
    updatedAt: formatInstant(row.updated_at),
  }
}

export function tokenStatus(row: Pick<TokenRow, 'revoked_at' | 'expires_at'>, now: number): Token['status'] {
  if (row.revoked_at !== null) return 'revoked'
  return row.expires_at !== null && now >= row.expires_at ? 'expired' : 'active'
}

export function tokenRecord(row: TokenRow, now: number): Token {
  return {
    id: row.id,
    name: row.name,
    tokenPrefix: row.token_prefix,
    last4: row.last4,
    scopes: JSON.parse(row.scopes),
    status: tokenStatus(row, now),
    createdAt: formatInstant(row.created_at),
    expiresAt: row.expires_at === null ? null : formatInstant(row.expires_at),
    lastUsedAt: row.last_used_at === null ? null : formatInstant(row.last_used_at),
    revokedAt: row.revoked_at === null ? null : formatInstant(row.revoked_at),
  }
}

/** What the runtime plane knows of a caller, from one row. */
export interface RuntimeCallerRow {
  token_id: string
  scopes: string
  expires_at: number | null
  revoked_at: number | null
  application_id: string
  account_id: string
  status: ApplicationRow['status']
  suspended: number
  features: string
  secure_transport: ApplicationRow['secure_transport']
}

/**
 * Whether a token may make a runtime call, in the order of decisions.md 1: 401 for the token itself,
 * 403 for its application, its feature, its scope. Null when it may.
 */
export function refuseRuntimeCall(
  row: RuntimeCallerRow | undefined,
  requiredScope: string | undefined,
  now: number,
): Refusal<
  | 'TOKEN_INVALID'
  | 'TOKEN_REVOKED'
  | 'TOKEN_EXPIRED'
  | 'APPLICATION_DISABLED'
  | 'FEATURE_UNAVAILABLE'
  | 'INSUFFICIENT_SCOPE'
> | null {
  if (row === undefined) return refuse('TOKEN_INVALID')
  const status = tokenStatus(row, now)
  if (status === 'revoked') return refuse('TOKEN_REVOKED')
  if (status === 'expired') return refuse('TOKEN_EXPIRED')
  const application = applicationStatus(row)
  if (application !== 'active') return refuse('APPLICATION_DISABLED', { status: application })
  if (!row.features.includes('"vouchers"')) return refuse('FEATURE_UNAVAILABLE')
  if (requiredScope !== undefined && !row.scopes.includes(`"${requiredScope}"`)) {
    return refuse('INSUFFICIENT_SCOPE', { required_scope: requiredScope })
  }
  return null
}
