/** Unpadded base64url (RFC 4648, section 5). */
export function encodeBase64url(bytes: Uint8Array): string {
  return asBuffer(bytes).toString('base64url')
}

/** The same bytes, no copy of them. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/**
 * The bytes of unpadded base64url, or undefined for any other spelling: padding, the alphabet of plain base64, white
 * space, unused bits that are set. Node's decoder takes all of these, so the re-encoding is compared.
 */
export function decodeBase64url(text: string): Uint8Array | undefined {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}
