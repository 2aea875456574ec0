import type { ShellPart } from '../values/shell-word.js'
import { hasCheckSymbol, readRedeemCode } from './credential-symbols.js'
import type { CredentialKind } from './endpoint.js'
import { HIDDEN } from './platform/captured.js'

// Search and replacement of secrets, for the server, the page, the command line and conform
// (rules/cli.md#hidden-values).

/** Position where a name may begin: not within a word, but after an escape of JSON or of a URL. */
const BEFORE = String.raw`(?:(?<![0-9A-Za-z])|(?<=\\[bfnrt]|%[0-9A-Fa-f]{2}))`
/** Separators between the groups of a code, as people, JSON or URLs write them. */
const GAP = String.raw`(?:[\p{White_Space}\p{Dash}\p{Default_Ignorable_Code_Point}+]|%2[0Dd]|\\[nrt])`
const GAPS = new RegExp(`${GAP}+`, 'gu')
/** A span id after its trace id, as in the header traceparent, can have the form of a code by chance. */
const NO_SPAN = '(?<![0-9a-f]{32}-(?=[0-9a-f]{16}(?![0-9A-Za-z])))'
/** The first three and the last two groups of one UUID in sixteen can have that form too. */
const UUID_START = '[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-'
const UUID_END = '[89ab][0-9a-f]{3}-[0-9a-f]{12}(?![0-9A-Za-z])'
const NO_UUID = `(?!${UUID_START}${UUID_END})(?<!(?<![0-9A-Za-z])${UUID_START}(?=${UUID_END}))`
const FOURS = `[0-9A-Za-z]{4}(?:${GAP}*[0-9A-Za-z]{4}){3}`
/** Never begins within a separator such as %20: otherwise a text of many separators would take quadratic time. */
const PAIRS = `(?<!%(?=2[0Dd]${GAP}))[0-9A-Za-z]{2}(?:${GAP}+[0-9A-Za-z]{2}){7}`
/** Letters, digits, dashes and invisible characters of any script. */
const SIGN = String.raw`[\p{L}\p{N}\p{Dash}\p{Default_Ignorable_Code_Point}]`
const JWT_BEGINNING = new RegExp(`${BEFORE}eyJ[\\w-]{8}`)

interface SecretForm {
  readonly what: string
  readonly example: string
  /** Matches candidates in linear time. A capture group marks a candidate that overlaps others. */
  readonly pattern: RegExp
  /** Offset in a candidate at which the secret begins, or -1 without a secret; the secret reaches to the end. */
  readonly startIn?: (candidate: string) => number
  readonly isCode?: true
}

/** Forms of secrets, in search order. */
export const secretForms: readonly SecretForm[] = [
  {
    what: 'token or operator key',
    example: 'sop%5FH2vnBHm8qRswhqyGP9YwWaViK5H3pi3nHPiJ',
    pattern: new RegExp(`${BEFORE}(?:sop|sbot|opk)(?:_|%5f)[\\w-]{16,}`, 'gi'),
  },
  {
    what: 'JWT',
    example: 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl',
    // Words with dots between them. Matches begin only at a word: otherwise a long word takes quadratic time.
    pattern: /(?<![\w-])[\w-]{11,}(?:\.|%2E)[\w-]{8,}(?:(?:\.|%2E)[\w-]*)*/g,
    startIn: (text) => text.search(JWT_BEGINNING),
  },
  {
    what: 'QR token',
    example: 'VQ1-0123456789ABCDEFGHJKMNPQRSTVWXYZ0',
    pattern: /VQ1(?:-|%2D)[0-9A-Z]{20,}/gi,
    isCode: true,
  },
  {
    what: 'redeem code in groups of four or two',
    example: 'm9s3 46q3%20d25v-t4fj',
    // Tries each group as the first one, because the text before a code may look like part of the code.
    pattern: new RegExp(`${BEFORE}${NO_SPAN}${NO_UUID}(?=(${FOURS}|${PAIRS})(?![0-9A-Za-z]))`, 'gu'),
    // Test for a digit first: most candidates are words without one.
    startIn: (text) => (ISSUED_CODE.test(text) || (/\d/.test(text) && isCode(text.replace(GAPS, ''))) ? 0 : -1),
    isCode: true,
  },
  {
    what: 'redeem code in other groups',
    example: 'm9s-346-q3d-25v-t4f-j',
    pattern: new RegExp(`(?<!${SIGN})${SIGN}{16,48}(?!${SIGN})`, 'gu'),
    startIn: (text) => (isCode(text) ? 0 : -1),
    isCode: true,
  },
]

/** Minimum length of a text in one of these forms. */
const FORM_LENGTH_MIN = 16

/** Hide a mistyped code too if it is written like an issued code. */
const ISSUED_CODE = /^[0-9A-Z]{4}(?:-[0-9A-Z]{4}){3}$/

/** True for a text with a correct check symbol, at least one digit (else words) and one letter (else a number). */
function isCode(text: string): boolean {
  if (!/\p{N}/u.test(text) || !/\p{L}/u.test(text)) return false
  const symbols = readRedeemCode(text)
  return symbols !== null && hasCheckSymbol(symbols)
}

const hidden = (_secret: string): string => HIDDEN

/** Replaces every text that has the form of a secret. */
export function replaceSecretForms(text: string, tokenText = hidden, codeText = hidden): string {
  if (text.length < FORM_LENGTH_MIN) return text
  return secretForms.reduce((shown, form) => replaceForm(shown, form, form.isCode ? codeText : tokenText), text)
}

function replaceForm(text: string, { pattern, startIn }: SecretForm, textFor: (secret: string) => string): string {
  const found: [from: number, to: number][] = []
  for (const match of text.matchAll(pattern)) {
    const candidate = match[1] ?? match[0]
    const start = startIn?.(candidate) ?? 0
    if (start === -1) continue
    const last = found.at(-1)
    const to = match.index + candidate.length
    if (last !== undefined && match.index < last[1]) last[1] = to
    else found.push([match.index + start, to])
  }
  let shown = ''
  let copied = 0
  for (const [from, to] of found) {
    shown += text.slice(copied, from) + textFor(text.slice(from, to))
    copied = to
  }
  return shown + text.slice(copied)
}

/** Hides these forms in data for the operator (rules/operator.md#shown-credentials). */
export const hideForms = (text: string): string => replaceSecretForms(text)

/** Minimum length of a secret to search for elsewhere; a shorter one may equal an ordinary word. */
export const KNOWN_LENGTH_MIN = 8

/** Encodings of a secret in text, JSON and URLs. A lone surrogate has no encoding in a URL. */
const encodingsOf = (secret: string): readonly string[] => [
  secret,
  JSON.stringify(secret).slice(1, -1),
  encodeURIComponent(secret.replace(/\p{Cs}/gu, '\ufffd')),
]

/** Encodings of secrets, each with its secret, longest first because a secret may contain another one. */
export function byEncoding(secrets: Iterable<string>): readonly (readonly [encoding: string, secret: string])[] {
  const found = new Map<string, string>()
  for (const secret of secrets) for (const encoding of encodingsOf(secret)) found.set(encoding, secret)
  return [...found].sort(([a], [b]) => b.length - a.length)
}

/** Replaces known secrets in every encoding. */
export function hideKnown(text: string, secrets: Iterable<string>, textFor: (secret: string) => string): string {
  const known = byEncoding(secrets).filter(([, secret]) => secret.length >= KNOWN_LENGTH_MIN)
  return known.reduce((shown, [encoding, secret]) => shown.replaceAll(encoding, () => textFor(secret)), text)
}

/** Assigns shell variables to secrets. */
export class SecretNames {
  readonly #names = new Map<string, string>()

  has(secret: string): boolean {
    return this.#names.has(secret)
  }

  /** Returns the variable of a secret: `name`, with a number if another secret has this name. */
  add(name: string, secret: string): string {
    const known = this.#names.get(secret)
    if (known !== undefined) return known
    const taken = new Set(this.#names.values())
    let free = name
    for (let n = 2; taken.has(free); n += 1) free = `${name}_${n}`
    this.#names.set(secret, free)
    return free
  }

  /** Splits a text at the secrets. */
  split(text: string): readonly ShellPart[] {
    // A secret may contain another one.
    const longestFirst = [...this.#names].sort(([a], [b]) => b.length - a.length)
    let parts: readonly ShellPart[] = [text]
    for (const [secret, variable] of longestFirst) parts = parts.flatMap((part) => splitAt(part, secret, variable))
    return parts
  }
}

/** Replaces each occurrence of a text with a variable. */
export const splitAt = (part: ShellPart, text: string, variable: string): readonly ShellPart[] =>
  typeof part !== 'string' ? [part] : part.split(text).flatMap((it, at) => (at === 0 ? [it] : [{ variable }, it]))

/** Number of successive letters and digits that count as part of a secret. */
const PART_LENGTH = 8

/**
 * Parts of a secret without case, width and separators, such as `m9s346q3` of M9S3-46Q3-D25V-T4FJ: such a part remains
 * when a probe changes the code.
 */
export function* partsOf(text: string): Generator<string> {
  const letters = text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '')
  // A platform may read these letters as digits.
  const symbols = letters.replaceAll('o', '0').replace(/[il]/g, '1')
  for (let at = 0; at + PART_LENGTH <= symbols.length; at += 1) yield symbols.slice(at, at + PART_LENGTH)
}

/** Names of members that contain a secret. */
export const secretMembers = {
  /** Names in a user's settings that suggest a secret. */
  ofSettings: /token|secret|jwt|key|password|credential|authorization/i,
  /** Names in a record of this platform; `value` is a redeem code or QR token. */
  ofRecords: /token$|secret|^jwt$|^value$/i,
  /** Names in a record of another platform, which may differ. */
  ofOthers: /(?:token|secret)$|^(?:redeem|voucher|qr)_?(?:code|data)$/i,
}

/** True if the name or the value of a setting suggests that it is a secret. */
export const looksSecret = (name: string, value: string) =>
  // The second pattern also finds the beginning of a token that is cut off.
  secretMembers.ofSettings.test(name) || /\b(?:sop|sbot|opk)_|\beyJ[\w-]+\.[\w-]+\./.test(value)

/** Determines the kind of a credential by its form; undefined for any other text. */
export function kindOf(secret: string): CredentialKind | undefined {
  if (secret.startsWith('sop_')) return 'token'
  if (secret.startsWith('sbot_')) return 'bot'
  if (secret.startsWith('opk_')) return 'operator'
  return /^eyJ[\w-]*\.[\w-]+\.[\w-]*$/.test(secret) ? 'jwt' : undefined
}

/** Minimum length of a token to show in part; eight characters would be most of a shorter token. */
const SHOWN_LENGTH_MIN = 20

/** Shortens a secret to its kind and first characters, the same ones that the server shows. */
export function redact(secret: string): string {
  const kind = kindOf(secret)
  if (kind === 'token' || kind === 'bot')
    return secret.length < SHOWN_LENGTH_MIN ? `${secret.slice(0, secret.indexOf('_') + 1)}…` : `${secret.slice(0, 8)}…`
  return kind === 'operator' ? 'opk_…' : kind === 'jwt' ? 'eyJ…' : '…'
}

/** Shortens a redeem code or QR token to its last four symbols. */
export const redactCode = (value: string): string => (value.length > 8 ? `…${value.slice(-4)}` : '…')
