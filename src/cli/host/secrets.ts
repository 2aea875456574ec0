import type { CredentialKind } from '../../contract/endpoint.js'
import { redact } from '../../contract/values/secrets.js'

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
