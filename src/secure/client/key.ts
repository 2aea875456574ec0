import { p256 } from '@noble/curves/nist.js'
import { expand, extract } from '@noble/hashes/hkdf.js'
import { sha256 } from '@noble/hashes/sha2.js'
import type { Hkdf } from '../key-schedule.js'
import type { RandomBytes } from '../suite.js'

/** Seed length that makes the remainder modulo the group order nearly uniform (FIPS 186-5, appendix A.2.1). */
const SEED_BYTES = 48

/** HKDF for clients, without node:crypto. */
export const nobleHkdf: Hkdf = {
  extract: (salt, secret) => extract(sha256, secret, salt),
  expand(prk, info, bytes) {
    if (bytes > 255 * 32) throw new RangeError('HKDF-SHA256 makes at most 8160 bytes')
    return expand(sha256, prk, info, bytes)
  },
}

/** Ephemeral key pair of a client, used for one session only. */
export interface ClientKeyPair {
  /** 32 bytes, big-endian. */
  readonly privateKey: Uint8Array
  /** 65 bytes, uncompressed. */
  readonly publicKey: Uint8Array
}

export function makeClientKeyPair(randomBytes: RandomBytes): ClientKeyPair {
  return clientKeyPairOf(p256.utils.randomSecretKey(randomBytes(SEED_BYTES)))
}

/** Derives the public key of a 32-byte private key. @throws Error for an invalid scalar. */
export function clientKeyPairOf(privateKey: Uint8Array): ClientKeyPair {
  return { privateKey, publicKey: p256.getPublicKey(privateKey, false) }
}

/**
 * Returns the shared secret: the 32-byte x coordinate with leading zeros.
 * @param serverPublicKey result of decodePublicKey
 */
export function agreeAsClient(privateKey: Uint8Array, serverPublicKey: Uint8Array): Uint8Array {
  // The library returns the compressed point, whose first byte is the sign of y.
  return p256.getSharedSecret(privateKey, serverPublicKey).subarray(1)
}
