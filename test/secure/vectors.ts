import { readFileSync } from 'node:fs'
import { decodeBase64url, type Envelope, type ServerSession, type SessionKeys } from '../../src/secure/index.js'

/** The content of test/vectors/secure-transport-v1.json, as far as tests read it. */
interface Vectors {
  readonly positive: readonly PositiveCase[]
  readonly negative: readonly NegativeCase[]
  readonly sessionRequest: readonly SessionCase[]
  readonly clientResponse: readonly ResponseCase[]
  readonly paths: readonly { readonly path: string; readonly valid: boolean }[]
  readonly skewMs: number
  readonly sessionLifetimeMs: number
  readonly maxEnvelopeBytes: number
  readonly httpStatus: Readonly<Record<string, number>>
}

interface Message {
  readonly plaintext: string
  readonly plaintextBytes: string
  readonly aad: string
  readonly envelope: Envelope
  readonly headers: Readonly<Record<string, string>>
}

export interface PositiveCase {
  readonly id: string
  readonly serverPrivateKey: string
  readonly serverPublicKey: string
  readonly kid: string
  readonly clientPrivateKey: string
  readonly clientPublicKey: string
  readonly session: {
    readonly sid: string
    readonly salt: string
    readonly brand: string
    readonly origin: string
    readonly createdAt: number
    readonly expiresAt: number
  }
  readonly derived: {
    readonly sharedSecret: string
    readonly prk: string
    readonly infoC2s: string
    readonly infoS2c: string
    readonly keyC2s: string
    readonly keyS2c: string
  }
  readonly serverNow: number
  readonly request: Message
  readonly response: Message & { readonly httpStatus: number }
}

export interface OuterRequest {
  readonly envelope?: unknown
  readonly bodyBytes?: string
  readonly padWithSpacesToBytes?: number
  readonly headers?: Readonly<Record<string, string>>
}

export interface NegativeCase extends OuterRequest {
  readonly id: string
  readonly base: string
  readonly serverNow: number
  readonly before?: readonly (OuterRequest & { readonly expect: string })[]
  readonly expect: {
    readonly outerStatus: number
    readonly code?: string | null
    readonly innerStatus?: number
    readonly innerCode?: string
  }
}

interface SessionCase {
  readonly id: string
  readonly allowedOrigins: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
  readonly expect: { readonly outerStatus: number; readonly code: string | null }
}

interface ResponseCase {
  readonly id: string
  readonly base: string
  readonly httpStatus: number
  readonly headers: Readonly<Record<string, string>>
  readonly envelope?: unknown
  readonly bodyBytes?: string
}

export const vectors: Vectors = JSON.parse(
  readFileSync(new URL('../vectors/secure-transport-v1.json', import.meta.url), 'utf8'),
)

export function positive(id: string): PositiveCase {
  const found = vectors.positive.find((it) => it.id === id)
  if (found === undefined) throw new Error(`no positive case ${id}`)
  return found
}

/** Decodes base64url; throws if the text is invalid. */
export function bytes(text: string): Uint8Array {
  const decoded = decodeBase64url(text)
  if (decoded === undefined) throw new Error('not base64url')
  return decoded
}

export function keysOf({ derived }: PositiveCase): SessionKeys {
  return { keyC2s: bytes(derived.keyC2s), keyS2c: bytes(derived.keyS2c) }
}

/** The encrypted session of a test vector as the server stores it. */
export function sessionOf(it: PositiveCase): ServerSession {
  const { sid, origin, expiresAt } = it.session
  return { sid, kid: it.kid, origin, expiresAt, ...keysOf(it) }
}

/** The body of the dispatch request of a test vector. */
export function bodyOf({ envelope, bodyBytes, padWithSpacesToBytes }: OuterRequest): Uint8Array {
  if (bodyBytes !== undefined) return bytes(bodyBytes)
  const json = Buffer.from(JSON.stringify(envelope))
  return padWithSpacesToBytes === undefined
    ? json
    : Buffer.concat([json, Buffer.alloc(padWithSpacesToBytes - json.length, ' ')])
}
