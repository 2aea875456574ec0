// The complete webhook signature scheme in one file, so that it is easy to audit. It imports node:crypto and one type
// (rules/webhooks.md#signatures).
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Update } from '../contract/updates.js'

/** Names of the three headers of every delivery, in any case. */
export const webhookHeaders = {
  /** Signature: 64 lower-case hex digits, or `new,old` while a secret is being replaced. */
  signature: 'X-Platform-Signature-V2',
  /** Time of this attempt in Unix seconds. */
  timestamp: 'X-Platform-Timestamp',
  /** The update_id of the body. The signature does not cover this header, so verification compares it with the body. */
  updateId: 'X-Platform-Update-Id',
} as const

/** Seconds that a timestamp may differ from the receiver's clock, either way. */
export const DEFAULT_TOLERANCE_SECONDS = 300

/**
 * Request headers: node's `request.headers`, `headersDistinct` or any other object, a Fetch `Headers`, a `Map`, or a
 * list of pairs. Names may have any case.
 */
export type WebhookHeaders =
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | Iterable<readonly [name: string, value: string | readonly string[] | undefined]>

/** The bytes of the body as received, before any parser. A string is encoded as UTF-8. */
export type RawBody = Uint8Array | ArrayBuffer | string

/** A `secret_token`, exactly as set at the platform: this library neither decodes nor trims it. */
export type WebhookSecret = string | Uint8Array

export interface VerifyWebhookInput {
  readonly headers: WebhookHeaders
  readonly rawBody: RawBody
  /** Secrets with which the platform may sign, current one first. The list and the secrets must not be empty. */
  readonly secrets: readonly WebhookSecret[]
  /** Current time as milliseconds since 1970, or a function that returns it. Default: `Date.now`. */
  readonly now?: (number | (() => number)) | undefined
  /** Maximum whole seconds between the timestamp and `now`, in either direction. Default: 300. */
  readonly toleranceSeconds?: number | undefined
}

/** All reasons for which a delivery can be refused, in the order of the checks. */
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
  /** Message for logs. It contains no part of a secret, and nothing of the request but the age of its timestamp. */
  readonly message: string
}

/**
 * An update of the platform; `type` tells the types apart, and newer platforms may send others. Verification checks
 * only `update_id`, which is rounded above 2^53 - 1; `updateId` of the verdict is exact.
 */
export type WebhookUpdate = Update

export interface VerifiedWebhook {
  readonly ok: true
  /** Exact update_id as decimal digits. Deliveries with the same id repeat one update: process only the first. */
  readonly updateId: string
  /** Time of the attempt in Unix seconds. */
  readonly timestamp: number
  /** The parsed body. */
  readonly body: WebhookUpdate
  /** Index in `secrets` of the first secret that signed; above 0, the platform still uses an older secret. */
  readonly secretIndex: number
}

export type WebhookVerdict = VerifiedWebhook | WebhookRefusal

export interface SignWebhookInput {
  readonly rawBody: RawBody
  /** One secret, or the new and the old one during a replacement. */
  readonly secrets: readonly WebhookSecret[]
  /** Time of the attempt in Unix seconds. */
  readonly timestamp: number | string
  /** The update_id of the body. */
  readonly updateId: number | bigint | string
}

export type SignedWebhookHeaders = Readonly<Record<(typeof webhookHeaders)[keyof typeof webhookHeaders], string>>

/**
 * Verifies a delivery before it parses the body. It compares every secret with every signature in constant time.
 *
 * A refusal is a return value. Only programming mistakes throw:
 * @throws TypeError for a body that is not raw, headers of an unsupported type, and an empty or missing secret (an
 * unset variable must not become a key that everybody knows).
 * @throws RangeError for an invalid clock or tolerance.
 */
export function verifyWebhook(input: VerifyWebhookInput): WebhookVerdict {
  if (!isObject(input) || !('rawBody' in input)) {
    throw new TypeError(`verifyWebhook takes one object { rawBody, headers, secrets }, not ${kindOf(input)}`)
  }
  const { now = Date.now, toleranceSeconds = DEFAULT_TOLERANCE_SECONDS } = input
  const body = bytesOf(input.rawBody)
  const keys = keysOf(input.secrets)
  // A NaN would pass every comparison below, so check it here.
  const milliseconds = typeof now === 'function' ? now() : now
  if (!Number.isFinite(milliseconds)) throw new RangeError('now must be milliseconds since 1970')
  if (!Number.isFinite(toleranceSeconds) || toleranceSeconds < 0) {
    throw new RangeError('toleranceSeconds must be a number of seconds, 0 or more')
  }

  const headers = readHeaders(input.headers)
  if (!headers.ok) return headers
  const { signature, timestamp, updateId } = headers

  if (!/^\d+$/.test(timestamp)) return refuse('malformed_timestamp', 'The timestamp is not made of digits only.')
  // Round down to whole seconds, like the timestamp header.
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
 * Returns the headers of a delivery. The signature is the HMAC-SHA256 of timestamp, dot and raw body, with the bytes of
 * the secret as its key. The body is not parsed.
 * @throws TypeError for a body that is not raw and for an empty or missing secret.
 * @throws RangeError for more than two secrets, and for a timestamp or update id that is not a non-negative integer.
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

/** The signature that one secret makes, as in the signature header. @param timestamp Unix seconds */
export function signatureOf(rawBody: RawBody, secret: WebhookSecret, timestamp: number | string): string {
  const [key] = keysOf([secret]) as [Uint8Array]
  return macOf(key, digitsOf('timestamp', timestamp), bytesOf(rawBody)).toString('hex')
}

/** Index of the first key that made a signature, or -1. The duration does not reveal the index. */
function signingSecret(keys: readonly Uint8Array[], timestamp: string, body: Uint8Array, signatures: string[]): number {
  const received = signatures.map((hex) => Buffer.from(hex, 'hex'))
  let found = -1
  for (const [index, key] of keys.entries()) {
    const expected = macOf(key, timestamp, body)
    for (const signature of received) {
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
 * Reads the single value of each webhook header. Node and Fetch join duplicate headers with a comma and a space, so a
 * comma means a duplicate, except in the signature, where the platform writes a comma without a space.
 * @throws TypeError for headers of an unsupported type.
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

export function valuesByName(headers: WebhookHeaders): Map<string, string[]> {
  if (!isObject(headers)) throw noHeaders(headers)
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
  const isSigned = Object.values(webhookHeaders).some((name) => values.get(name.toLowerCase())?.length)
  if (!isSigned && !isHeaders(headers)) throw noHeaders(headers)
  return values
}

/** False for an object that cannot be headers, or has them in a member: a promise, a request, an event. */
function isHeaders(headers: object): boolean {
  if (Symbol.iterator in headers) return true
  const isValue = (it: unknown) => typeof it !== 'function' && ![it].flat().some(isObject)
  const holdsHeaders = 'headers' in headers && (headers.headers === null || !isValue(headers.headers))
  const prototype = Object.getPrototypeOf(headers)
  // Requests and promises have their members in a class. No `instanceof`: other realms have other classes.
  const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null
  return isPlain && !holdsHeaders && Object.values(headers).every(isValue)
}

function noHeaders(given: unknown): TypeError {
  const examples = 'request.headers, event.headers or await headers()'
  return new TypeError(`headers must be the headers themselves, such as ${examples}, not ${kindOf(given)}`)
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/** Names a wrong value without quoting it. */
function kindOf(value: unknown): string {
  if (!isObject(value)) return value == null ? String(value) : `a ${typeof value}`
  if ('then' in value && typeof value.then === 'function') return 'a Promise: await it first'
  const { name } = value.constructor ?? {}
  if (Array.isArray(value)) return 'a list'
  if (typeof name === 'string' && !['Object', ''].includes(name)) return `an object of the class ${name}`
  return 'headers' in value ? 'an object that has headers' : 'a plain object'
}

type ReadUpdate = { readonly ok: true; readonly value: WebhookUpdate; readonly updateId: string }

/** Parses the update of a raw body without verifying it. */
export function readUpdate(body: Uint8Array): ReadUpdate | WebhookRefusal {
  let text: string
  let value: unknown
  try {
    // The decoder drops a byte order mark, as RFC 8259, 8.1 allows, and throws for invalid UTF-8.
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
 * Digits of the top-level update_id in a JSON text; the last one if it is duplicated, as in JSON.parse. Needed only
 * above 2^53 - 1, which JSON.parse rounds (before Node 21, its reviver does not get the source text).
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
      at = endOfString(json, start)
      member.lastIndex = at + 1
      const found = depth === 1 ? member.exec(json) : null
      if (found !== null && JSON.parse(json.slice(start, at + 1)) === 'update_id') digits = found[1]
    }
  }
  return digits
}

/** Position of the quotation mark that ends the string starting at `start` of a JSON text. */
function endOfString(json: string, start: number): number {
  let at = start + 1
  while (json[at] !== '"') at += json[at] === '\\' ? 2 : 1
  return at
}

/** Converts a raw body to bytes. @throws TypeError for another type, for example the result of a JSON parser */
export function bytesOf(rawBody: RawBody): Uint8Array {
  if (typeof rawBody === 'string') return Buffer.from(rawBody)
  // `instanceof Uint8Array` would fail in test runners that give each test file its own realm.
  if (ArrayBuffer.isView(rawBody)) return Buffer.from(rawBody.buffer, rawBody.byteOffset, rawBody.byteLength)
  if (Object.prototype.toString.call(rawBody) === '[object ArrayBuffer]') return Buffer.from(rawBody)
  throw new TypeError(
    'rawBody must be the bytes of the request as they came (Buffer, Uint8Array, ArrayBuffer or string), not ' +
      `${kindOf(rawBody)}: the signature covers the bytes, and serialising a parsed body again gives other ones`,
  )
}

/** Converts secrets to bytes. @throws TypeError if there is no secret, or one is empty or of another type */
export function keysOf(secrets: readonly WebhookSecret[]): Uint8Array[] {
  if (!Array.isArray(secrets) || secrets.length === 0) {
    const given = Array.isArray(secrets) ? 'an empty one' : kindOf(secrets)
    throw new TypeError(`secrets must be a list of one or more, such as [process.env.SECRET], not ${given}`)
  }
  return secrets.map((secret: unknown) => {
    const key = typeof secret === 'string' ? Buffer.from(secret) : secret
    if (!ArrayBuffer.isView(key))
      throw new TypeError(`every secret must be a string or a Uint8Array, not ${kindOf(secret)}`)
    if (key.byteLength === 0) throw new TypeError('a secret must not be empty')
    return Buffer.from(key.buffer, key.byteOffset, key.byteLength)
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
