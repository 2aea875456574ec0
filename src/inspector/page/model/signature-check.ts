// Checks in the page, with Web Crypto, which secret makes a signature: a pasted secret never leaves the browser.
import { type Bytes, base64Of, fromHex, hexOf } from './edited-bytes.js'

/** A signed delivery: its signatures cover the timestamp, a dot and the bytes of the body. */
interface SignedDelivery {
  /** The timestamp and the dot. */
  readonly prefix: string
  readonly body: Bytes
  readonly signatures: readonly string[]
}

/** `index` of the signature that a secret makes, and by what it differs from the one that is set; null for none. */
export type SecretVerdict = { readonly index: number; readonly difference: string } | null

const utf8 = new TextEncoder()

async function hmacOf(secret: Bytes, prefix: string, body: Bytes): Promise<string> {
  const key = await crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  const signed = await new Blob([prefix, body]).arrayBuffer()
  return hexOf(new Uint8Array(await crypto.subtle.sign('HMAC', key, signed)))
}

/** Compares a secret with the signatures of a delivery, as it is written and then without known mistakes. */
export async function checkSecret(written: string, delivery: SignedDelivery): Promise<SecretVerdict> {
  for (const [difference, spelling] of spellingsOf(written)) {
    const secret = typeof spelling === 'string' ? utf8.encode(spelling) : spelling
    // Web Crypto takes no empty key.
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

/** Bytes of base64 or base64url; null for anything else. */
function fromBase64(written: string): Bytes | null {
  try {
    return Uint8Array.from(atob(written.replaceAll('-', '+').replaceAll('_', '/')), (it) => it.charCodeAt(0))
  } catch {
    return null
  }
}
