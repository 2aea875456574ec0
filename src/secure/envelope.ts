import { decodeBase64url, encodeBase64url } from '../values/base64url.js'
import { asMembers, type Members } from '../values/json.js'
import { decrypt, encrypt, IV_BYTES, TAG_BYTES } from './aead.js'
import { type Direction, PROTOCOL_VERSION, refuse, type SecureRefusal, SUITE } from './suite.js'

/** Fields that form the additional data (AAD) of a message. A response repeats the fields of its request. */
export interface EnvelopeHead {
  readonly kid: string
  readonly sid: string
  readonly rid: string
  /** Milliseconds since 1970. */
  readonly ts: number
}

/** An envelope as it is sent, with binary fields in base64url (rules/encryption.md#envelopes). */
export interface Envelope extends EnvelopeHead {
  readonly v: number
  readonly suite: string
  /** 12 bytes, base64url. */
  readonly iv: string
  /** Ciphertext followed by its 16-byte tag, base64url. */
  readonly ciphertext: string
}

/** A well-formed envelope with decoded binary fields; the tag is not verified yet. */
export interface SealedMessage extends EnvelopeHead {
  readonly iv: Uint8Array
  readonly sealed: Uint8Array
}

/** Number of fields of an envelope: v, suite, kid, sid, rid, ts, iv, ciphertext. */
const FIELDS = 8

// Neither pattern allows '|', which separates the fields of the additional data.
const ID = /^[A-Za-z0-9_-]{1,64}$/
const RID = /^[A-Za-z0-9_-]{16,64}$/

/** The shortest plaintext is the JSON object {}: two bytes, then the tag. */
const MIN_SEALED_BYTES = TAG_BYTES + 2

/** Returns the additional data (AAD) of a message (rules/encryption.md#bootstrap-and-session). */
export function additionalData({ kid, sid, rid, ts }: EnvelopeHead, direction: Direction): string {
  return `platform|v1|http|${direction}|${kid}|${sid}|${rid}|${ts}`
}

/** Encrypts a message. The IV must be fresh: 12 random bytes, never used before with this key. */
export function seal(
  key: Uint8Array,
  direction: Direction,
  head: EnvelopeHead,
  iv: Uint8Array,
  plaintext: Uint8Array | string,
): Envelope {
  const { kid, sid, rid, ts } = head
  const sealed = encrypt(key, iv, plaintext, Buffer.from(additionalData(head, direction)))
  const ciphertext = encodeBase64url(sealed)
  return { v: PROTOCOL_VERSION, suite: SUITE, kid, sid, rid, ts, iv: encodeBase64url(iv), ciphertext }
}

/**
 * Serialises a response envelope. JSON.stringify would take half as long as the encryption to look for characters to
 * escape; there are none, because parseEnvelope has checked the fields of the request and the others are base64url.
 */
export function encodeEnvelope({ v, suite, kid, sid, rid, ts, iv, ciphertext }: Envelope): string {
  return `{"v":${v},"suite":"${suite}","kid":"${kid}","sid":"${sid}","rid":"${rid}","ts":${ts},"iv":"${iv}","ciphertext":"${ciphertext}"}`
}

/** Decrypts a message; undefined when it was not encrypted with the same key, direction and head. */
export function open(key: Uint8Array, direction: Direction, message: SealedMessage): Uint8Array | undefined {
  return decrypt(key, message.iv, message.sealed, Buffer.from(additionalData(message, direction)))
}

export type ParsedEnvelope =
  | { readonly ok: true; readonly message: SealedMessage }
  | SecureRefusal<'SECURE_ENVELOPE_INVALID' | 'SECURE_VERSION_UNSUPPORTED'>

/** Checks the form of an envelope: first the version, then the eight fields (rules/encryption.md#dispatch-order). */
export function parseEnvelope(value: unknown): ParsedEnvelope {
  const members = asMembers(value)
  if (members === undefined || !Number.isInteger(members.v) || typeof members.suite !== 'string') {
    return refuse('SECURE_ENVELOPE_INVALID')
  }
  if (members.v !== PROTOCOL_VERSION || members.suite !== SUITE) return refuse('SECURE_VERSION_UNSUPPORTED')
  const { kid, sid, rid, ts } = members
  const binary = decodeBinary(members)
  if (binary === undefined || !isText(kid, ID) || !isText(sid, ID) || !isText(rid, RID) || !isInstant(ts)) {
    return refuse('SECURE_ENVELOPE_INVALID')
  }
  // All eight fields are present, so a larger count means an unknown member.
  if (Object.keys(members).length !== FIELDS) return refuse('SECURE_ENVELOPE_INVALID')
  const { iv, sealed } = binary
  return { ok: true, message: { kid, sid, rid, ts, iv, sealed } }
}

/** Decodes the IV and the ciphertext of an envelope; undefined when either is malformed. */
export function decodeBinary({ iv, ciphertext }: Members): Pick<SealedMessage, 'iv' | 'sealed'> | undefined {
  if (typeof iv !== 'string' || typeof ciphertext !== 'string') return undefined
  const ivBytes = decodeBase64url(iv)
  const sealed = decodeBase64url(ciphertext)
  if (ivBytes?.length !== IV_BYTES || sealed === undefined || sealed.length < MIN_SEALED_BYTES) return undefined
  return { iv: ivBytes, sealed }
}

/** True for a non-negative safe integer: milliseconds since 1970. */
export function isInstant(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function isText(value: unknown, form: RegExp): value is string {
  return typeof value === 'string' && form.test(value)
}
