import { hideForms } from '../../../contract/secrets.js'

/** Decodes base64 as the server writes it. */
export const bytesOf = (base64: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(base64), (it) => it.charCodeAt(0))

/** Decodes UTF-8; null for other bytes. Keeps a byte order mark, which is part of the sent body. */
export function textOf(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return null
  }
}

/** Bytes to display. The page gets the signed bytes, in which an application may have written a credential. */
export function withoutSecrets(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const text = textOf(bytes) ?? ''
  const shown = hideForms(text)
  return shown === text ? bytes : new TextEncoder().encode(shown)
}

/** Formats each line as offset, 16 bytes in hex and ASCII characters. */
export function hexDump(bytes: Uint8Array): string {
  const lines: string[] = []
  for (let at = 0; at < bytes.length; at += 16) {
    const row = [...bytes.subarray(at, at + 16)]
    const hex = row.map((it) => it.toString(16).padStart(2, '0')).join(' ')
    const text = row.map((it) => (it > 31 && it < 127 ? String.fromCharCode(it) : '·')).join('')
    lines.push(`${at.toString(16).padStart(4, '0')}  ${hex.padEnd(47)}  ${text}`)
  }
  return lines.join('\n')
}
