/** Unpadded base64url (RFC 4648, section 5). */
export function encodeBase64url(bytes: Uint8Array): string {
  return asBuffer(bytes).toString('base64url')
}

/** Returns a Buffer over the memory of `bytes`, without copying. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/**
 * Decodes unpadded base64url; undefined for padding, the plain base64 alphabet, white space or non-zero unused bits.
 * Node's decoder accepts such texts, so this function compares the re-encoded bytes with the input.
 */
export function decodeBase64url(text: string): Uint8Array | undefined {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}
