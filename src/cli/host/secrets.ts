import type { CredentialKind } from '../../contract/endpoint.js'
import { textOrJson } from '../output/value-text.js'

/** Names of the credential kinds in messages. */
export const credentialNames: Readonly<Record<CredentialKind, string>> = {
  token: 'application token',
  bot: 'bot token',
  jwt: 'account JWT',
  operator: 'operator key',
}

export const credentialVariables: Readonly<Record<CredentialKind, string>> = {
  token: 'VOUCHERCTL_TOKEN',
  bot: 'VOUCHERCTL_BOT_TOKEN',
  jwt: 'VOUCHERCTL_JWT',
  operator: 'VOUCHERCTL_OPERATOR_KEY',
}

export const webhookSecretVariable = 'VOUCHERCTL_WEBHOOK_SECRET'

const JWT = /^eyJ[\w-]*\.[\w-]+\.[\w-]*$/

/** Determines the kind of a credential by its form; undefined for any other text. */
export function kindOf(secret: string): CredentialKind | undefined {
  if (secret.startsWith('sop_')) return 'token'
  if (secret.startsWith('sbot_')) return 'bot'
  if (secret.startsWith('opk_')) return 'operator'
  return JWT.test(secret) ? 'jwt' : undefined
}

/** True if the name or the value of a member suggests that it is a secret. */
export function looksSecret(name: string, value: unknown): boolean {
  if (/token|secret|jwt|key|password|credential|authorization/i.test(name)) return true
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return Object.entries(value).some(([inner, it]) => looksSecret(inner, it))
  const content = textOrJson(value)
  return /\b(?:sop|sbot|opk)_|\beyJ[\w-]+\.[\w-]+\./.test(content ?? '')
}

/** Minimum length of a token that is shown in part; eight characters would be most of a shorter one. */
const SHORTEST_SHOWN = 20

/** Shortens a secret to its kind and first characters, which the server shows too. */
export function redact(secret: string): string {
  const kind = kindOf(secret)
  if (kind === 'token' || kind === 'bot')
    return secret.length < SHORTEST_SHOWN ? `${secret.slice(0, secret.indexOf('_') + 1)}…` : `${secret.slice(0, 8)}…`
  if (kind === 'operator') return 'opk_…'
  return kind === 'jwt' ? 'eyJ…' : '…'
}

/** Describes a credential for an error: its kind, its first characters, where it came from and its server. */
export function describeCredential(
  kind: CredentialKind,
  secret: string,
  source: string | undefined,
  baseUrl: string,
): string {
  const from = source === undefined ? '' : ` from ${source}`
  return `${credentialNames[kind]} ${redact(secret)}${from}, for ${new URL(baseUrl).origin}`
}

/** Shortens a redeem code or QR token to its last four symbols. */
export function redactCode(value: string): string {
  return value.length > 8 ? `…${value.slice(-4)}` : '…'
}

/** Reads account and expiry from a JWT without verifying it, for display only. */
export function describeJwt(jwt: string): { account: string | null; expiresAt: string | null } {
  try {
    const claims = JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString('utf8')) as Record<
      string,
      unknown
    >
    return {
      account: typeof claims.sub === 'string' ? claims.sub : null,
      expiresAt: typeof claims.exp === 'number' ? new Date(claims.exp * 1000).toISOString() : null,
    }
  } catch {
    return { account: null, expiresAt: null }
  }
}
