import { mapTexts } from '../../contract/values/map-texts.js'
import { encodingsOf, replaceSecretForms } from '../../contract/values/secret-forms.js'
import type { Host } from './host.js'
import { credentialVariables, redact, redactCode, webhookSecretVariable } from './secrets.js'

/** Minimum length of a secret that is removed: a shorter one may equal an ordinary word of the text. */
const SHORTEST_SECRET = 8

/** Secrets that this run has read, for each host. */
const known = new WeakMap<Pick<Host, 'env'>, Set<string>>()

/** Registers a secret that `scrub` must remove from stderr and dry runs. */
export function remember(host: Pick<Host, 'env'>, secret: string): void {
  if (secret.length >= SHORTEST_SECRET) secretsOf(host).add(secret)
}

/**
 * Removes secrets from a text: those registered with `remember`, and any text in the form of a credential. A server or
 * proxy may repeat a request in its error, and a user may type a token in the wrong place.
 */
export function scrub(host: Pick<Host, 'env'>, text: string): string {
  let shown = text
  for (const secret of secretsOf(host)) {
    for (const form of encodingsOf(secret)) shown = shown.replaceAll(form, hidden(secret))
  }
  return replaceSecretForms(shown, redact, redactCode)
}

/** Removes secrets from every text in a JSON value. */
export const scrubAll = (host: Pick<Host, 'env'>, value: unknown) => mapTexts(value, (text) => scrub(host, text))

function hidden(secret: string): string {
  const shown = redact(secret)
  return shown === '…' ? '[secret]' : shown
}

function secretsOf(host: Pick<Host, 'env'>): Set<string> {
  const found = known.get(host)
  if (found !== undefined) return found
  const { env } = host
  const named = [...Object.values(credentialVariables), webhookSecretVariable].map((name) => env[name] ?? '')
  const secrets = new Set(named.filter((it) => it.length >= SHORTEST_SECRET))
  known.set(host, secrets)
  return secrets
}
