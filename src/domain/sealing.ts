import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto'
import type { RandomBytes } from './ids.js'
import { type Keyring, keyOf } from './keyring.js'

/**
 * Encrypts secrets that the server must read again: AES-256-GCM under a key derived from a credential key, written as
 * `<key id>.<iv>.<ciphertext and tag>` in unpadded base64url (rules/callers.md#stored-secrets).
 */
const ALGORITHM = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16

/** Encrypts a secret. @param owner id bound to the ciphertext, which cannot be decrypted in another owner's row */
export function seal(ring: Keyring, owner: string, secret: string, random: RandomBytes): string {
  const { id } = ring.current
  const iv = random(IV_BYTES)
  const cipher = createCipheriv(ALGORITHM, sealingKey(ring, id), iv, { authTagLength: TAG_BYTES })
  cipher.setAAD(bindingTo(owner))
  const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()])
  return [id, Buffer.from(iv).toString('base64url'), sealed.toString('base64url')].join('.')
}

/** Decrypts a secret. @throws unless the value was encrypted for this owner with a key of the ring */
export function unseal(ring: Keyring, owner: string, value: string): string {
  const [id = '', iv = '', sealed = ''] = value.split('.')
  const bytes = Buffer.from(sealed, 'base64url')
  const key = sealingKey(ring, id)
  const decipher = createDecipheriv(ALGORITHM, key, Buffer.from(iv, 'base64url'), { authTagLength: TAG_BYTES })
  decipher.setAAD(bindingTo(owner))
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
  return Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()]).toString('utf8')
}

/** Returns the associated data of the AEAD cipher. */
function bindingTo(owner: string): Buffer {
  return Buffer.from(owner)
}

function sealingKey(ring: Keyring, id: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', keyOf(ring, id).derive, '', 'voucherctl sealing v1', 32))
}
