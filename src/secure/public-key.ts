import { createHash } from 'node:crypto'
import { decodeBase64url, encodeBase64url } from '../values/base64url.js'

const POINT_BYTES = 65

// The curve P-256 (SEC 2, section 2.4.2): y^2 = x^3 - 3x + b over the integers modulo p.
const P = 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n
const B = 0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604bn

/**
 * Decodes a P-256 public key to its 65 bytes: 87 characters of unpadded base64url of the uncompressed SEC 1 point
 * `04 | x | y`, coordinates below p, on the curve. Undefined for anything else. The check is here because several
 * libraries accept compressed and hybrid points too (rules/encryption.md#public-keys).
 */
export function decodePublicKey(text: string): Uint8Array | undefined {
  const point = decodeBase64url(text)
  return point !== undefined && isPublicKey(point) ? point : undefined
}

/** True for an uncompressed point of the curve. The point at infinity has no uncompressed form. */
export function isPublicKey(point: Uint8Array): boolean {
  if (point.length !== POINT_BYTES || point[0] !== 4) return false
  const x = integerOf(point.subarray(1, 33))
  const y = integerOf(point.subarray(33))
  return x < P && y < P && (y * y - (x * x * x - 3n * x + B)) % P === 0n
}

/** Returns the identifier (kid) of a server key: the first 16 characters of base64url(SHA-256(point)). */
export function kidOf(point: Uint8Array): string {
  return sha256(point).slice(0, 16)
}

/** Returns the pin of a server's public key: `sha256:` and the base64url of SHA-256 over its 65 bytes. */
export function pinOf(point: Uint8Array): string {
  return `sha256:${sha256(point)}`
}

function sha256(point: Uint8Array): string {
  return encodeBase64url(createHash('sha256').update(point).digest())
}

/** Reads an unsigned big-endian integer. Only for public values: bigint arithmetic is not constant-time. */
function integerOf(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
}
