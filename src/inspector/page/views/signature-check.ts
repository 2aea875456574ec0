// Checks in the page, with Web Crypto, which secret makes a signature: a pasted secret never leaves the browser.
import { type Bytes, base64Of, fromHex, hexOf } from './edited-bytes.js'

/** A signed delivery: its signatures cover the timestamp, a dot and the bytes of the body. */
export interface SignedDelivery {
  /** The timestamp and the dot. */
  readonly prefix: string
  readonly body: Bytes
  readonly signatures: readonly string[]
}

/** `index` of the signature that a secret makes, and the mistake without which it does; null if it makes none. */
export type SecretVerdict = { readonly index: number; readonly mistake: string } | null

const utf8 = new TextEncoder()

async function hmacOf(secret: Bytes, prefix: string, body: Bytes): Promise<string> {
  const key = await crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  const signed = await new Blob([prefix, body]).arrayBuffer()
  return hexOf(new Uint8Array(await crypto.subtle.sign('HMAC', key, signed)))
}

/** Compares a secret with the signatures of a delivery, as it is written and then without known mistakes. */
export async function checkSecret(written: string, delivery: SignedDelivery): Promise<SecretVerdict> {
  for (const [mistake, secret] of spellingsOf(written)) {
    // Web Crypto takes no empty key.
    if (!secret?.length) continue
    const index = delivery.signatures.indexOf(await hmacOf(secret, delivery.prefix, delivery.body))
    if (index >= 0) return { index, mistake }
  }
  return null
}

function spellingsOf(written: string): readonly (readonly [mistake: string, secret: Bytes | null])[] {
  const trimmed = written.trim()
  const bare = trimmed.replace(/^whsec_/, '')
  return [
    ['', utf8.encode(written)],
    ['with spaces around it', utf8.encode(trimmed)],
    ['with quotes around it', utf8.encode(trimmed.replace(/^(["'])(.*)\1$/, '$2'))],
    ['with the prefix whsec_, which the other side leaves out', utf8.encode(bare)],
    ['without its prefix whsec_', utf8.encode(`whsec_${trimmed}`)],
    ['as text, and the other side decodes it from base64', fromBase64(bare)],
    ['decoded, and the other side uses it in base64', utf8.encode(base64Of(utf8.encode(written)))],
    ['as text, and the other side decodes it from hex', fromHex(trimmed)],
  ]
}

/** Bytes of base64 or base64url; null for anything else. */
function fromBase64(written: string): Bytes | null {
  try {
    return Uint8Array.from(atob(written.replaceAll('-', '+').replaceAll('_', '/')), (it) => it.charCodeAt(0))
  } catch {
    return null
  }
}
