import { p256 } from '@noble/curves/nist.js'
import { expand, extract } from '@noble/hashes/hkdf.js'
import { sha256 } from '@noble/hashes/sha2.js'
import type { Hkdf } from '../key-schedule.js'
import type { RandomBytes } from '../suite.js'

/** Bytes of a seed whose remainder modulo the group order is as good as uniform (FIPS 186-5, appendix A.2.1). */
const SEED_BYTES = 48

/** HKDF of the client's half. */
export const nobleHkdf: Hkdf = {
  extract: (salt, secret) => extract(sha256, secret, salt),
  expand(prk, info, bytes) {
    if (bytes > 255 * 32) throw new RangeError('HKDF-SHA256 makes at most 8160 bytes')
    return expand(sha256, prk, info, bytes)
  },
}

/** An ephemeral key pair of a client: used for one session and forgotten. */
export interface ClientKeyPair {
  /** 32 bytes, big-endian. */
  readonly privateKey: Uint8Array
  /** 65 bytes, uncompressed. */
  readonly publicKey: Uint8Array
}

export function makeClientKeyPair(randomBytes: RandomBytes): ClientKeyPair {
  return clientKeyPairOf(p256.utils.randomSecretKey(randomBytes(SEED_BYTES)))
}

/** The pair of a known private key of 32 bytes. @throws Error when it is no scalar of the curve. */
export function clientKeyPairOf(privateKey: Uint8Array): ClientKeyPair {
  return { privateKey, publicKey: p256.getPublicKey(privateKey, false) }
}

/**
 * The shared secret: the 32-byte x coordinate, leading zeros kept.
 * @param serverPublicKey as decodePublicKey gives it
 */
export function agreeAsClient(privateKey: Uint8Array, serverPublicKey: Uint8Array): Uint8Array {
  // The library answers the compressed point: a byte for the sign of y comes first.
  return p256.getSharedSecret(privateKey, serverPublicKey).subarray(1)
}
