// Finds in the page, with Web Crypto, which secret made a signature. A pasted secret never leaves the browser.
import { type Bytes, base64Of, fromHex } from './edited-bytes.js'
import { hexOf } from './format.js'

/** A signed delivery. Its signatures cover the timestamp, a dot and the body bytes. */
interface SignedDelivery {
  /** Timestamp and dot, which precede the body in the signed text. */
  readonly prefix: string
  readonly body: Bytes
  readonly signatures: readonly string[]
}

/** `index` of the signature that the secret made, and the mistake in the secret, if any; null without a match. */
export type SecretVerdict = { readonly index: number; readonly difference: string } | null

const utf8 = new TextEncoder()

async function hmacOf(secret: Bytes, prefix: string, body: Bytes): Promise<string> {
  const key = await crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  const signed = await new Blob([prefix, body]).arrayBuffer()
  return hexOf(new Uint8Array(await crypto.subtle.sign('HMAC', key, signed)))
}

/** Compares a secret with the signatures of a delivery, as typed and with known mistakes corrected. */
export async function checkSecret(written: string, delivery: SignedDelivery): Promise<SecretVerdict> {
  for (const [difference, spelling] of spellingsOf(written)) {
    const secret = typeof spelling === 'string' ? utf8.encode(spelling) : spelling
    // Web Crypto refuses an empty key.
    if (!secret?.length) continue
    const index = delivery.signatures.indexOf(await hmacOf(secret, delivery.prefix, delivery.body))
    if (index >= 0) return { index, difference }
  }
  return null
}

function spellingsOf(written: string): readonly (readonly [difference: string, secret: string | Bytes | null])[] {
  const trimmed = written.trim()
  const prefix = 'whsec_'
  const bare = trimmed.replace(prefix, '')
  return [
    ['', written],
    ['spaces', trimmed],
    ['quotes', trimmed.replace(/^(["'])(.*)\1$/, '$2')],
    [prefix, bare],
    [prefix, prefix + trimmed],
    ['base64', fromBase64(bare)],
    ['base64', base64Of(utf8.encode(written))],
    ['hex', fromHex(trimmed)],
  ]
}

/** Decodes base64 or base64url; null for other text. */
function fromBase64(written: string): Bytes | null {
  try {
    return Uint8Array.from(atob(written.replaceAll('-', '+').replaceAll('_', '/')), (it) => it.charCodeAt(0))
  } catch {
    return null
  }
}
