import type { Application, apps } from '../contract/apps.js'
import type { InputOf } from '../contract/endpoint.js'
import { type Refusal, refuse } from '../contract/errors.js'
import type { Token } from '../contract/tokens.js'
import { DAY_MS } from '../values/duration.js'
import { formatInstant, instantOrNull } from './time.js'
import { hashToken, tokenPrefixOf } from './tokens.js'

/** A row of a table. In all rows, times are in ms since the epoch, flags 0 or 1, structures JSON text. */
export interface ApplicationRow {
  id: string
  account_id: string
  name: string
  description: string | null
  /** Set by the owner; `suspended` overrides it. */
  status: 'active' | 'disabled'
  suspended: number
  features: string
  allowed_origins: string
  secure_transport: 'optional' | 'required'
  created_at: number
  updated_at: number
}

export interface TokenRow {
  id: string
  application_id: string
  name: string
  token_hash: string
  token_prefix: string
  last4: string
  scopes: string
  created_at: number
  expires_at: number | null
  last_used_at: number | null
  revoked_at: number | null
}

/** Maximum per account and per application (rules/callers.md#applications, rules/callers.md#application-tokens). */
export const APPLICATIONS_PER_ACCOUNT = 50
export const ACTIVE_TOKENS_PER_APPLICATION = 20
export const TOKEN_LIFETIME_DAYS = 365

/** The operator as caller in the history of a voucher, where others have a token id or the prefix of a bot token. */
export const OPERATOR_CALLER = 'operator'

/** Members of an application that its owner sets. */
export type ApplicationSettings = Omit<InputOf<typeof apps.update>, 'appId'>

export function newApplication(
  id: string,
  accountId: string,
  settings: ApplicationSettings & { readonly name: string },
  now: number,
): ApplicationRow {
  return {
    id,
    account_id: accountId,
    name: settings.name,
    description: settings.description ?? null,
    status: settings.status ?? 'active',
    suspended: 0,
    features: '["vouchers"]',
    allowed_origins: JSON.stringify(settings.allowed_origins ?? ['*']),
    secure_transport: settings.secure_transport ?? 'optional',
    created_at: now,
    updated_at: now,
  }
}

interface NewToken {
  readonly name: string
  /** The token itself; the row has only its hash. */
  readonly token: string
  readonly scopes: readonly string[]
  /** Days until the token expires; null for a token that does not expire. */
  readonly days: number | null
}

export function newToken(id: string, applicationId: string, token: NewToken, now: number): TokenRow {
  return {
    id,
    application_id: applicationId,
    name: token.name,
    token_hash: hashToken(token.token),
    token_prefix: tokenPrefixOf(token.token),
    last4: token.token.slice(-4),
    scopes: JSON.stringify(token.scopes),
    created_at: now,
    expires_at: token.days === null ? null : now + token.days * DAY_MS,
    last_used_at: null,
    revoked_at: null,
  }
}

/** Returns the status that applies: a suspension overrides the owner's status, which stays stored. */
export function applicationStatus(row: Pick<ApplicationRow, 'status' | 'suspended'>): Application['status'] {
  return row.suspended === 1 ? 'suspended' : row.status
}

export type LinkedBot = Application['linkedBots'][number]

/** @param linkedBots oldest link first */
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
    expiresAt: instantOrNull(row.expires_at),
    lastUsedAt: instantOrNull(row.last_used_at),
    revokedAt: instantOrNull(row.revoked_at),
  }
}

/** Columns of an application that decide whether it accepts a runtime call. */
export type ApplicationPolicy = Pick<
  ApplicationRow,
  'status' | 'suspended' | 'features' | 'secure_transport' | 'allowed_origins'
>

/** Token and application of a runtime call, read in one joined row. */
export type RuntimeCallerRow = ApplicationPolicy &
  Pick<ApplicationRow, 'account_id'> &
  Pick<TokenRow, 'application_id' | 'scopes' | 'expires_at' | 'revoked_at'> & { token_id: string }

/**
 * Checks the policy of an application in the order of rules/calls.md#order-of-checks; null if the call is allowed.
 * @param origin origin of the encrypted session, empty without one; null for a call in plain text
 */
export function refuseForApplication(
  policy: ApplicationPolicy,
  origin: string | null,
): Refusal<'APPLICATION_DISABLED' | 'SECURE_TRANSPORT_REQUIRED' | 'ORIGIN_NOT_ALLOWED' | 'FEATURE_UNAVAILABLE'> | null {
  const status = applicationStatus(policy)
  if (status !== 'active') return refuse('APPLICATION_DISABLED', { status })
  if (origin === null && policy.secure_transport === 'required') return refuse('SECURE_TRANSPORT_REQUIRED')
  if (origin !== null && !isOriginAllowed(JSON.parse(policy.allowed_origins), origin))
    return refuse('ORIGIN_NOT_ALLOWED')
  return policy.features.includes('"vouchers"') ? null : refuse('FEATURE_UNAVAILABLE')
}

/** True if the list allows the origin. Without `*` it requires an origin (rules/encryption.md#session-origins). */
function isOriginAllowed(allowed: readonly string[], origin: string): boolean {
  return allowed.includes('*') || (origin !== '' && allowed.includes(origin))
}

/**
 * Checks a runtime call: the token (401), then the policy of its application, then the scope. Null if it is allowed.
 * @param origin as for `refuseForApplication`
 */
export function refuseRuntimeCall(
  row: RuntimeCallerRow | undefined,
  requiredScope: string | undefined,
  now: number,
  origin: string | null = null,
):
  | Refusal<'TOKEN_INVALID' | 'TOKEN_REVOKED' | 'TOKEN_EXPIRED' | 'INSUFFICIENT_SCOPE'>
  | ReturnType<typeof refuseForApplication> {
  if (row === undefined) return refuse('TOKEN_INVALID')
  const status = tokenStatus(row, now)
  if (status === 'revoked') return refuse('TOKEN_REVOKED')
  if (status === 'expired') return refuse('TOKEN_EXPIRED')
  const refusal = refuseForApplication(row, origin)
  if (refusal !== null) return refusal
  if (requiredScope !== undefined && !row.scopes.includes(`"${requiredScope}"`)) {
    return refuse('INSUFFICIENT_SCOPE', { required_scope: requiredScope })
  }
  return null
}
