import { hash } from 'node:crypto'

const BLOCK_BYTES = 64
const DIGEST_BYTES = 32

const padsOfKey = new WeakMap<Uint8Array, { inner: Buffer; outer: Buffer }>()

/**
 * Computes HMAC-SHA256 (RFC 2104) by two one-shot hashes. createHmac allocates a native object and takes two to four
 * times as long; issuing a voucher needs four HMACs.
 * @param key at most 64 bytes; callers must not change the array, because its pads are cached
 * @throws RangeError for a longer key
 */
export function hmacSha256(key: Uint8Array, text: string, encoding: 'hex' | 'base64url' | 'binary'): string {
  const { inner, outer } = padsOf(key)
  const message = Buffer.allocUnsafe(BLOCK_BYTES + Buffer.byteLength(text))
  message.set(inner)
  message.write(text, BLOCK_BYTES)
  const outerMessage = Buffer.allocUnsafe(BLOCK_BYTES + DIGEST_BYTES)
  outerMessage.set(outer)
  outerMessage.write(hash('sha256', message, 'binary'), BLOCK_BYTES, 'binary')
  return hash('sha256', outerMessage, encoding)
}

function padsOf(key: Uint8Array): { inner: Buffer; outer: Buffer } {
  let pads = padsOfKey.get(key)
  if (pads === undefined) {
    if (key.length > BLOCK_BYTES) throw new RangeError(`"key" must have at most ${BLOCK_BYTES} bytes`)
    pads = { inner: Buffer.alloc(BLOCK_BYTES, 0x36), outer: Buffer.alloc(BLOCK_BYTES, 0x5c) }
    for (const [index, byte] of key.entries()) {
      pads.inner[index] = byte ^ 0x36
      pads.outer[index] = byte ^ 0x5c
    }
    padsOfKey.set(key, pads)
  }
  return pads
}
