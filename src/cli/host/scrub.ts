import { mapTexts } from '../../contract/values/map-texts.js'
import { hideKnown, redact, redactCode, replaceSecretForms } from '../../contract/values/secrets.js'
import type { Host } from './host.js'
import { credentialVariables, webhookSecretVariable } from './secrets.js'

/** Secrets that this run has read, for each host. */
const known = new WeakMap<Pick<Host, 'env'>, Set<string>>()

/** Registers a secret that `scrub` must remove from stderr and dry runs. */
export function remember(host: Pick<Host, 'env'>, secret: string): void {
  secretsOf(host).add(secret)
}

/**
 * Removes secrets from a text: those registered with `remember`, and any text in the form of a credential. A server or
 * proxy may repeat a request in its error, and a user may type a token in the wrong place.
 */
export function scrub(host: Pick<Host, 'env'>, text: string): string {
  const shown = hideKnown(text, secretsOf(host), hidden)
  return replaceSecretForms(shown, redact, redactCode)
}

/** Removes secrets from every text in a JSON value. */
export const scrubAll = (host: Pick<Host, 'env'>, value: unknown) => mapTexts(value, (text) => scrub(host, text))

function hidden(secret: string): string {
  const shown = redact(secret)
  return shown === '…' ? '[secret]' : shown
}

function secretsOf(host: Pick<Host, 'env'>): Set<string> {
  const names = [...Object.values(credentialVariables), webhookSecretVariable]
  const secrets = known.get(host) ?? new Set(names.map((name) => host.env[name] ?? ''))
  known.set(host, secrets)
  return secrets
}
