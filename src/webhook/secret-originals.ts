import type { MismatchCause } from './mismatch-causes.js'

const PREFIX = 'whsec_'

/**
 * Keys that may have signed, if the secret here was altered in a known way, or the one that signed was. Empty ones
 * are left out: an empty key has a cause of its own.
 */
export function* secretOriginals(secret: Uint8Array): Generator<readonly [MismatchCause, Uint8Array]> {
  for (const [cause, key] of alterations(Buffer.from(secret))) {
    if (key.length > 0) yield [cause, typeof key === 'string' ? Buffer.from(key) : key]
  }
}

function* alterations(secret: Buffer): Generator<readonly [MismatchCause, string | Uint8Array]> {
  const text = secret.toString('utf8')
  yield ['secret_trailing_newline', text.replace(/\r?\n$/, '')]
  yield ['secret_trailing_newline', text.trim()]
  yield ['secret_trimmed', `${text}\n`]
  yield ['secret_trimmed', `${text}\r\n`]
  yield ['secret_quoted', text.trim().replace(/^(["'])(.*)\1$/, '$2')]
  yield ['secret_prefix', PREFIX + text]
  if (text.startsWith(PREFIX)) yield ['secret_prefix', text.slice(PREFIX.length)]

  const encoded = [secret.toString('base64'), secret.toString('base64url')]
  for (const written of [...encoded, ...encoded.map((it) => it.replace(/=+$/, ''))]) {
    yield ['secret_base64_decoded', written]
    yield ['secret_base64_decoded', PREFIX + written]
  }
  yield ['secret_hex_decoded', secret.toString('hex')]
  yield ['secret_hex_decoded', secret.toString('hex').toUpperCase()]

  // The other way round: the side that signed decoded what is text here.
  yield ['secret_base64_decoded', Buffer.from(text, 'base64')]
  if (text.startsWith(PREFIX)) yield ['secret_base64_decoded', Buffer.from(text.slice(PREFIX.length), 'base64')]
  yield ['secret_hex_decoded', Buffer.from(text, 'hex')]
}
