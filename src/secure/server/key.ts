import { createECDH, createHmac } from 'node:crypto'
import { encodeBase64url } from '../../values/base64url.js'
import type { Hkdf } from '../key-schedule.js'
import { kidOf } from '../public-key.js'
import type { RandomBytes } from '../suite.js'

const PRIVATE_KEY_BYTES = 32
const HASH_BYTES = 32

/** Order of the group of P-256 (SEC 2, section 2.4.2). */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n

/** HKDF on node:crypto, so that a server need not load the libraries of the client. */
export const nodeHkdf: Hkdf = {
  extract: (salt, secret) => hmac(salt, secret),
  expand(prk, info, bytes) {
    if (bytes > 255 * HASH_BYTES) throw new RangeError('HKDF-SHA256 makes at most 8160 bytes')
    const blocks: Uint8Array[] = []
    let block: Uint8Array = Buffer.alloc(0)
    for (let index = 1; blocks.length * HASH_BYTES < bytes; index += 1) {
      block = hmac(prk, block, info, Uint8Array.of(index))
      blocks.push(block)
    }
    return Buffer.concat(blocks).subarray(0, bytes)
  },
}

/** Static key of the server. The private part stays inside node:crypto, whose arithmetic is constant-time. */
export interface ServerKey {
  readonly kid: string
  /** Public key as 87 characters of base64url. */
  readonly publicKey: string
  /**
   * Returns the shared secret: the 32-byte x coordinate with leading zeros.
   * @param clientPublicKey result of decodePublicKey
   */
  agree(clientPublicKey: Uint8Array): Uint8Array
}

/** @throws RangeError unless `privateKey` is a scalar of P-256 in exactly 32 bytes, big-endian. */
export function loadServerKey(privateKey: Uint8Array): ServerKey {
  if (!isScalar(privateKey)) throw new RangeError('The private key is no P-256 scalar of 32 bytes')
  const ecdh = createECDH('prime256v1')
  ecdh.setPrivateKey(privateKey)
  const point = ecdh.getPublicKey()
  return {
    kid: kidOf(point),
    publicKey: encodeBase64url(point),
    agree: (clientPublicKey) => ecdh.computeSecret(clientPublicKey),
  }
}

/** Generates a 32-byte private key by rejection sampling; the first sample fails with a probability of 2^-32. */
export function makeServerPrivateKey(randomBytes: RandomBytes): Uint8Array {
  for (;;) {
    const bytes = randomBytes(PRIVATE_KEY_BYTES)
    if (isScalar(bytes)) return bytes
  }
}

function isScalar(bytes: Uint8Array): boolean {
  if (bytes.length !== PRIVATE_KEY_BYTES) return false
  const value = BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
  return value > 0n && value < ORDER
}

function hmac(key: Uint8Array, ...parts: readonly Uint8Array[]): Uint8Array {
  const mac = createHmac('sha256', key)
  for (const part of parts) mac.update(part)
  return mac.digest()
}
