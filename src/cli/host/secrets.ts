import type { CredentialKind } from '../../contract/endpoint.js'
import {
  credentialVariables,
  hideKnown,
  looksSecret,
  redact,
  redactCode,
  replaceSecretForms,
} from '../../contract/secrets.js'
import { mapTexts } from '../../values/json.js'
import type { Host } from './host.js'

export const credentialNames: Readonly<Record<CredentialKind, string>> = {
  token: 'application token',
  bot: 'bot token',
  jwt: 'account JWT',
  operator: 'operator key',
}

export { credentialVariables }

export const webhookSecretVariable = 'VOUCHERCTL_WEBHOOK_SECRET'

/**
 * Removes credentials from the environment: a program that is started does not need them,
 * and other processes may read them there.
 */
export function withoutSecrets(env: Host['env']): NodeJS.ProcessEnv {
  const isSecret = (name: string) => name.startsWith('VOUCHERCTL_') && looksSecret(name, '')
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isSecret(name)))
}

/** Removes one line end, which a file with CR LF leaves in a variable. */
export const withoutLineEnd = (text = '') => text.replace(/(?:\r\n|\r|\n)$/, '')

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

/** Secrets that this run has read, for each host. */
const known = new WeakMap<Pick<Host, 'env'>, Set<string>>()

/** Registers a secret that `scrub` must remove from stderr and dry runs. */
export function remember(host: Pick<Host, 'env'>, secret: string): void {
  secretsOf(host).add(secret)
}

/**
 * Removes secrets from a text: those registered with `remember`, and each text in the form of a credential. A server or
 * proxy may repeat a request in an error, and a user may type a token in the wrong place.
 */
export function scrub(host: Pick<Host, 'env'>, text: string): string {
  const shown = hideKnown(text, secretsOf(host), hidden)
  return replaceSecretForms(shown, redact, redactCode)
}

export const scrubAll = (host: Pick<Host, 'env'>, value: unknown) => mapTexts(value, (text) => scrub(host, text))

function hidden(secret: string): string {
  const shown = redact(secret)
  return shown === '…' ? '[secret]' : shown
}

function secretsOf(host: Pick<Host, 'env'>): Set<string> {
  const names = [...Object.values(credentialVariables), webhookSecretVariable]
  const secrets = known.get(host) ?? new Set(names.map((name) => withoutLineEnd(host.env[name])))
  known.set(host, secrets)
  return secrets
}
