import { createCipheriv, createDecipheriv } from 'node:crypto'
import { KEY_BYTES } from './key-schedule.js'

export const IV_BYTES = 12
export const TAG_BYTES = 16

// Without an explicit length, node:crypto accepts tags truncated to four bytes.
const options = { authTagLength: TAG_BYTES } as const

/**
 * Encrypts with AES-256-GCM; returns the ciphertext followed by its 16-byte tag.
 * @param plaintext bytes, or a string that is encoded as UTF-8
 * @throws RangeError unless the key has 32 bytes and the IV 12.
 */
export function encrypt(key: Uint8Array, iv: Uint8Array, plaintext: Uint8Array | string, aad: Uint8Array): Uint8Array {
  checkSizes(key, iv)
  const cipher = createCipheriv('aes-256-gcm', key, iv, options)
  cipher.setAAD(aad)
  // Pass a string directly: encoding it first would need another buffer.
  const ciphertext = typeof plaintext === 'string' ? cipher.update(plaintext, 'utf8') : cipher.update(plaintext)
  // GCM is a stream mode: final() returns no ciphertext and only computes the tag.
  cipher.final()
  const sealed = Buffer.allocUnsafe(ciphertext.length + TAG_BYTES)
  sealed.set(ciphertext)
  sealed.set(cipher.getAuthTag(), ciphertext.length)
  return sealed
}

/**
 * Decrypts with AES-256-GCM; undefined when key, IV, AAD, ciphertext and tag do not match.
 * @param sealed the ciphertext followed by its 16-byte tag
 * @throws RangeError unless the key has 32 bytes and the IV 12.
 */
export function decrypt(key: Uint8Array, iv: Uint8Array, sealed: Uint8Array, aad: Uint8Array): Uint8Array | undefined {
  checkSizes(key, iv)
  if (sealed.length < TAG_BYTES) return undefined
  const decipher = createDecipheriv('aes-256-gcm', key, iv, options)
  decipher.setAAD(aad)
  // Buffer.subarray() takes twice as long as a new Uint8Array over the same memory.
  const { buffer, byteOffset } = sealed
  const length = sealed.length - TAG_BYTES
  decipher.setAuthTag(new Uint8Array(buffer, byteOffset + length, TAG_BYTES))
  const plaintext = decipher.update(new Uint8Array(buffer, byteOffset, length))
  try {
    decipher.final()
    return plaintext
  } catch {
    // The sizes are valid, so final() throws only if the tag does not match.
    return undefined
  }
}

function checkSizes(key: Uint8Array, iv: Uint8Array): void {
  if (key.length !== KEY_BYTES) throw new RangeError('The key must have 32 bytes')
  if (iv.length !== IV_BYTES) throw new RangeError('The IV must have 12 bytes')
}
