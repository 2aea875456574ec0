import { textOf, withoutSecrets } from './bytes.js'
import { hexOf } from './format.js'

export type Bytes = Uint8Array<ArrayBuffer>
export type ByteFormat = 'text' | 'hex'

export function base64Of(bytes: Uint8Array): string {
  let binary = ''
  for (const byte of bytes) binary += String.fromCharCode(byte)
  return btoa(binary)
}

/** Decodes hex digits, with optional space between bytes; null for other text. */
export function fromHex(written: string): Bytes | null {
  const digits = written.replace(/\s/g, '')
  if (!/^(?:[0-9a-f]{2})*$/i.test(digits)) return null
  return Uint8Array.from(digits.match(/../g) ?? [], (it) => Number.parseInt(it, 16))
}

/** True if a text area preserves the bytes and shows no credential: text areas convert CR to LF. */
export const isEditableText = (bytes: Bytes): boolean =>
  textOf(bytes)?.includes('\r') === false && withoutSecrets(bytes) === bytes

/** Formats bytes for a text area, as text or as hex with 16 bytes per line. */
export function writeBytes(bytes: Uint8Array, format: ByteFormat): string {
  if (format === 'text') return textOf(bytes) ?? ''
  return hexOf(bytes)
    .replace(/../g, '$& ')
    .replace(/(.{47}) /g, '$1\n')
    .trim()
}

/** Parses the content of a text area; null for malformed hex. */
export const readBytes = (written: string, format: ByteFormat): Bytes | null =>
  format === 'hex' ? fromHex(written) : new TextEncoder().encode(written)
