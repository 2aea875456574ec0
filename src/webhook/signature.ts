// The whole rule of the webhook signature in one file, so that it can be audited at a glance. It imports node:crypto
// and nothing else (DECISIONS.md#signatures).
import { createHmac, timingSafeEqual } from 'node:crypto'

/** The three headers of every delivery. Names are compared without regard to case. */
export const webhookHeaders = {
  /** 64 lower-case hex digits, or two of them joined by a comma while a secret is being replaced: `new,old`. */
  signature: 'X-Platform-Signature-V2',
  /** Unix seconds of this attempt. */
  timestamp: 'X-Platform-Timestamp',
  /** Not signed, therefore compared with the body. */
  updateId: 'X-Platform-Update-Id',
} as const

/** Seconds that a timestamp may differ from the receiver's clock, either way. */
export const DEFAULT_TOLERANCE_SECONDS = 300

/**
 * Header names in any case: node's `request.headers`, `headersDistinct` or any other object, a Fetch `Headers`,
 * a `Map`, or a list of pairs.
 */
export type WebhookHeaders =
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | Iterable<readonly [name: string, value: string | readonly string[] | undefined]>

/** The body as it came, before any parsing. A string stands for its UTF-8 bytes. */
export type RawBody = Uint8Array | ArrayBuffer | string

/** A `secret_token` as it was set at the platform; nothing of it is decoded or trimmed. */
export type WebhookSecret = string | Uint8Array

export interface VerifyWebhookInput {
  readonly headers: WebhookHeaders
  readonly rawBody: RawBody
  /** Every secret that may have signed, the current one first. At least one, none of them empty. */
  readonly secrets: readonly WebhookSecret[]
  /** The receiver's clock: milliseconds since 1970, or a function that gives them. Default: `Date.now`. */
  readonly now?: number | (() => number)
  /** Whole seconds, inclusive, both ways. Default: 300. */
  readonly toleranceSeconds?: number
}

/** Why a delivery is refused. The list is closed; the order is that of the checks. */
export type WebhookRefusalReason =
  | 'missing_header'
  | 'repeated_header'
  | 'malformed_timestamp'
  | 'stale'
  | 'future'
  | 'malformed_signature'
  | 'bad_signature'
  | 'body_not_json'
  | 'body_without_update_id'
  | 'update_id_mismatch'

export interface WebhookRefusal {
  readonly ok: false
  readonly reason: WebhookRefusalReason
  /** For a log. It holds nothing of a secret, and of the request only how far its timestamp is off. */
  readonly message: string
}

/** An update of the platform. A verifier requires its `update_id` only. */
export interface WebhookUpdate {
  /** Rounded above 2^53 - 1: `updateId` of the verdict is exact. */
  readonly update_id: number
  readonly [member: string]: unknown
}

export interface VerifiedWebhook {
  readonly ok: true
  /** Digits. Deliveries with the same one are repeats of one update: act on the first. */
  readonly updateId: string
  /** Unix seconds. */
  readonly timestamp: number
  /** The parsed body. */
  readonly body: WebhookUpdate
  /** Place in `secrets` of the first one that signed: above 0, an older secret is still in use. */
  readonly secretIndex: number
}

export type WebhookVerdict = VerifiedWebhook | WebhookRefusal

export interface SignWebhookInput {
  readonly rawBody: RawBody
  /** One secret, or two while one replaces the other: new, then old. */
  readonly secrets: readonly WebhookSecret[]
  /** Unix seconds. */
  readonly timestamp: number | string
  /** The update_id of the body. */
  readonly updateId: number | bigint | string
}

export type SignedWebhookHeaders = Readonly<Record<(typeof webhookHeaders)[keyof typeof webhookHeaders], string>>

/**
 * Checks a delivery and only then parses it. Every secret is compared with every signature in constant time.
 *
 * A request that must be refused is a value. A mistake of the program that calls is thrown, whatever the request:
 * @throws TypeError for a body that is not raw, for headers of another kind, and for an empty or missing secret (an
 * unset variable must not become a key that everybody knows).
 * @throws RangeError for a clock or a tolerance that is no number of that kind.
 */
export function verifyWebhook(input: VerifyWebhookInput): WebhookVerdict {
  const { now = Date.now, toleranceSeconds = DEFAULT_TOLERANCE_SECONDS } = input
  const body = bytesOf(input.rawBody)
  const keys = keysOf(input.secrets)
  // A NaN would pass every comparison below.
  const milliseconds = typeof now === 'function' ? now() : now
  if (!Number.isFinite(milliseconds)) throw new RangeError('now must be milliseconds since 1970')
  if (!Number.isFinite(toleranceSeconds) || toleranceSeconds < 0) {
    throw new RangeError('toleranceSeconds must be a number of seconds, 0 or more')
  }

  const headers = readHeaders(input.headers)
  if (!headers.ok) return headers
  const { signature, timestamp, updateId } = headers

  if (!/^\d+$/.test(timestamp)) return refuse('malformed_timestamp', 'The timestamp is not made of digits only.')
  // Whole seconds, as the header counts them.
  const age = Math.floor(milliseconds / 1000) - Number(timestamp)
  if (age > toleranceSeconds) {
    return refuse('stale', `The timestamp is ${age} s old; at most ${toleranceSeconds} s are allowed.`)
  }
  if (age < -toleranceSeconds) {
    return refuse('future', `The timestamp is ${-age} s ahead; at most ${toleranceSeconds} s are allowed.`)
  }

  if (!/^[0-9a-f]{64}(?:,[0-9a-f]{64})?$/.test(signature)) {
    return refuse(
      'malformed_signature',
      'The signature is not 64 lower-case hex digits, or two such joined by a comma.',
    )
  }
  const secretIndex = signingSecret(keys, timestamp, body, signature.split(','))
  if (secretIndex === -1) return refuse('bad_signature', 'No given secret made this signature over these bytes.')

  const update = readUpdate(body)
  if (!update.ok) return update
  if (update.updateId !== updateId) {
    return refuse('update_id_mismatch', `${webhookHeaders.updateId} is not the update_id of the body.`)
  }
  return { ok: true, updateId, timestamp: Number(timestamp), body: update.value, secretIndex }
}

/**
 * The headers of a delivery: HMAC-SHA256 over timestamp, dot and raw body, keyed with the bytes of the secret.
 * The body is not looked into.
 * @throws TypeError for a body that is not raw and for an empty or missing secret.
 * @throws RangeError for more than two secrets, and for a timestamp or update id that is no whole number from 0.
 */
export function signWebhook({ rawBody, secrets, timestamp, updateId }: SignWebhookInput): SignedWebhookHeaders {
  const body = bytesOf(rawBody)
  const keys = keysOf(secrets)
  if (keys.length > 2) throw new RangeError('secrets must be one, or two while one replaces the other')
  const seconds = digitsOf('timestamp', timestamp)
  return {
    [webhookHeaders.signature]: keys.map((key) => macOf(key, seconds, body).toString('hex')).join(','),
    [webhookHeaders.timestamp]: seconds,
    [webhookHeaders.updateId]: digitsOf('updateId', updateId),
  }
}

/** Place of the first key that made one of the signatures, or -1. Takes the same time wherever it is. */
function signingSecret(keys: readonly Uint8Array[], timestamp: string, body: Uint8Array, signatures: string[]): number {
  const given = signatures.map((hex) => Buffer.from(hex, 'hex'))
  let found = -1
  for (const [index, key] of keys.entries()) {
    const expected = macOf(key, timestamp, body)
    for (const signature of given) {
      const equal = timingSafeEqual(expected, signature)
      if (equal && found === -1) found = index
    }
  }
  return found
}

function macOf(key: Uint8Array, timestamp: string, body: Uint8Array) {
  return createHmac('sha256', key).update(`${timestamp}.`).update(body).digest()
}

type ReadHeaders = {
  readonly ok: true
  readonly signature: string
  readonly timestamp: string
  readonly updateId: string
}

/**
 * One value of each header. Node and Fetch join repeated ones by a comma and a space: a comma is therefore a second
 * value, except in the signature, where the platform itself writes one without a space.
 * @throws TypeError for headers of another kind.
 */
export function readHeaders(headers: WebhookHeaders): ReadHeaders | WebhookRefusal {
  const values = valuesByName(headers)
  const read = { signature: '', timestamp: '', updateId: '' }
  for (const member of ['signature', 'timestamp', 'updateId'] as const) {
    const name = webhookHeaders[member]
    const [value, ...others] = values.get(name.toLowerCase()) ?? []
    if (value === undefined) return refuse('missing_header', `${name} is missing.`)
    if (others.length > 0 || (member === 'signature' ? /,\s/ : /,/).test(value)) {
      return refuse('repeated_header', `${name} has more than one value.`)
    }
    read[member] = value
  }
  return { ok: true, ...read }
}

function valuesByName(headers: WebhookHeaders): Map<string, string[]> {
  if (typeof headers !== 'object' || headers === null)
    throw new TypeError('headers must be an object, Headers or a Map')
  const values = new Map<string, string[]>()
  for (const entry of Symbol.iterator in headers ? headers : Object.entries(headers)) {
    if (!Array.isArray(entry) || typeof entry[0] !== 'string') {
      throw new TypeError('headers must be names with values: a list like rawHeaders has to be made into pairs')
    }
    const [name, value] = entry as [string, unknown]
    const known = values.get(name.toLowerCase()) ?? []
    const strings = [value].flat().filter((it): it is string => typeof it === 'string')
    values.set(name.toLowerCase(), [...known, ...strings])
  }
  return values
}

type ReadUpdate = { readonly ok: true; readonly value: WebhookUpdate; readonly updateId: string }

/** The update of a raw body, whoever signed it. */
export function readUpdate(body: Uint8Array): ReadUpdate | WebhookRefusal {
  let text: string
  let value: unknown
  try {
    // A byte order mark is dropped, as RFC 8259, 8.1 allows; invalid UTF-8 is not repaired.
    text = new TextDecoder('utf-8', { fatal: true }).decode(body)
    value = JSON.parse(text)
  } catch {
    return refuse('body_not_json', 'The signature is right, but the body is not JSON in UTF-8.')
  }
  const id = typeof value === 'object' && value !== null && 'update_id' in value ? value.update_id : undefined
  const digits = Number.isSafeInteger(id) ? String(id) : typeof id === 'number' ? updateIdAsWritten(text) : undefined
  if (digits === undefined || digits.startsWith('-')) {
    return refuse('body_without_update_id', 'The signature is right, but the body is no object with a whole update_id.')
  }
  return { ok: true, value: value as WebhookUpdate, updateId: digits }
}

/**
 * The digits of the update_id at the top of a JSON text, the last one if there are several, as JSON.parse has it.
 * For numbers above 2^53 - 1 only, which JSON.parse rounds (its reviver gets the source text from Node 21 on).
 */
function updateIdAsWritten(json: string): string | undefined {
  const member = /\s*:\s*(?:(\d+)\s*[,}])?/y
  let digits: string | undefined
  let depth = 0
  for (let at = 0; at < json.length; at++) {
    const symbol = json[at]
    if (symbol === '{' || symbol === '[') depth++
    else if (symbol === '}' || symbol === ']') depth--
    else if (symbol === '"') {
      const start = at
      for (at++; json[at] !== '"'; at++) if (json[at] === '\\') at++
      member.lastIndex = at + 1
      const found = depth === 1 ? member.exec(json) : null
      if (found !== null && JSON.parse(json.slice(start, at + 1)) === 'update_id') digits = found[1]
    }
  }
  return digits
}

/** @throws TypeError for anything that is no raw body, above all for what a JSON parser made of one. */
export function bytesOf(rawBody: RawBody): Uint8Array {
  if (typeof rawBody === 'string') return new TextEncoder().encode(rawBody)
  // Not by instanceof Uint8Array: some test runners give each file a realm of its own.
  if (ArrayBuffer.isView(rawBody)) return new Uint8Array(rawBody.buffer, rawBody.byteOffset, rawBody.byteLength)
  if (Object.prototype.toString.call(rawBody) === '[object ArrayBuffer]') return new Uint8Array(rawBody)
  throw new TypeError(
    'rawBody must be the bytes of the request as they came (Buffer, Uint8Array, ArrayBuffer or string), not the ' +
      'parsed body: the signature covers the bytes, and serialising an object again gives other ones',
  )
}

/** @throws TypeError for none at all, an empty one, or one of another kind. */
export function keysOf(secrets: readonly WebhookSecret[]): Uint8Array[] {
  if (!Array.isArray(secrets) || secrets.length === 0) throw new TypeError('secrets must be a list of one or more')
  return secrets.map((secret: unknown) => {
    const key = typeof secret === 'string' ? new TextEncoder().encode(secret) : secret
    if (!ArrayBuffer.isView(key)) throw new TypeError('every secret must be a string or a Uint8Array')
    if (key.byteLength === 0) throw new TypeError('a secret must not be empty')
    return new Uint8Array(key.buffer, key.byteOffset, key.byteLength)
  })
}

function digitsOf(name: string, value: number | bigint | string): string {
  const digits = String(value)
  if ((typeof value === 'number' && !Number.isSafeInteger(value)) || !/^\d+$/.test(digits)) {
    throw new RangeError(`${name} must be a whole number from 0, exact or as digits`)
  }
  return digits
}

function refuse(reason: WebhookRefusalReason, message: string): WebhookRefusal {
  return { ok: false, reason, message }
}
