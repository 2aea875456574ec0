import { mapTexts } from '../output/plain.js'
import type { Host } from './host.js'
import { credentialVariables, redact, redactCode, webhookSecretVariable } from './secrets.js'

/** Shorter texts may be words of what is said. */
const SHORTEST_SECRET = 8

/** The secrets that a run has got hold of, by where it runs. */
const known = new WeakMap<Pick<Host, 'env'>, Set<string>>()

/** From here on the secret is in nothing that goes to stderr or into a dry run. */
export function remember(host: Pick<Host, 'env'>, secret: string): void {
  if (secret.length >= SHORTEST_SECRET) secretsOf(host).add(secret)
}

/**
 * The text without a secret: those that the run knows, and whatever has the form of one. A server or a proxy may repeat
 * what it was sent in its refusal, and a person may type a token where something else belongs.
 */
export function scrub(host: Pick<Host, 'env'>, text: string): string {
  let shown = text
  for (const secret of secretsOf(host)) {
    // In JSON and in a URL it may be written in another way.
    for (const form of new Set([secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)])) {
      shown = shown.replaceAll(form, hidden(secret))
    }
  }
  return shown.replace(CREDENTIAL, redact).replace(CODE, redactCode)
}

/** The same of every text in a value. */
export const scrubAll = (host: Pick<Host, 'env'>, value: unknown) => mapTexts(value, (text) => scrub(host, text))

const CREDENTIAL = /\b(?:(?:sop|sbot|opk)_[\w-]{16,}|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?)/g
const CODE = /\b(?:VQ1-[0-9A-Z]{20,}|[0-9A-Z]{4}(?:-[0-9A-Z]{4}){3}(?![-\w]))/g

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
