import { hasCheckSymbol, readRedeemCode } from '../credential-symbols.js'
import { HIDDEN } from '../platform/captured.js'

/** Ends where a name may begin: not within a word, but after an escape of JSON or of a URL. */
const BEFORE = String.raw`(?<![0-9A-Za-z])|(?<=\\[bfnrt]|%[0-9A-Fa-f]{2})`

const TOKEN = new RegExp(`(?:${BEFORE})(?:sop|sbot|opk)(?:_|%5f)[\\w-]{16,}`, 'gi')
/** Parts with a dot between them. A match begins only where a word does: otherwise a long word takes quadratic time. */
const DOTTED = /(?<![\w-])[\w-]{11,}(?:\.|%2E)[\w-]{8,}(?:(?:\.|%2E)[\w-]*)*/g
/** Beginning of a JWT, in any part, and the fewest characters after it. */
const JWT_BEGINNING = new RegExp(`(?:${BEFORE})eyJ[\\w-]{8}`)
const QR_TOKEN = /VQ1(?:-|%2D)[0-9A-Z]{20,}/gi
/** Four groups of four symbols or eight pairs, with what people, JSON or URLs put between them. */
const GAP = String.raw`(?:[\p{White_Space}\p{Dash}\p{Default_Ignorable_Code_Point}+]|%2[0Dd]|\\[nrt])`
const GAPS = new RegExp(`${GAP}+`, 'gu')
/** A span id behind its trace id, as in the header traceparent, has the form of a code by chance. */
const NO_SPAN = '(?<![0-9a-f]{32}-(?=[0-9a-f]{16}(?![0-9A-Za-z])))'
/** So do the first three and the last two groups of one UUID in sixteen. */
const UUID_START = '[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-'
const UUID_END = '[89ab][0-9a-f]{3}-[0-9a-f]{12}(?![0-9A-Za-z])'
const NO_UUID = `(?!${UUID_START}${UUID_END})(?<!(?<![0-9A-Za-z])${UUID_START}(?=${UUID_END}))`
const CODE = new RegExp(
  `(?:${BEFORE})${NO_SPAN}${NO_UUID}(?=([0-9A-Za-z]{4}(?:${GAP}*[0-9A-Za-z]{4}){3}|[0-9A-Za-z]{2}(?:${GAP}+[0-9A-Za-z]{2}){7})(?![0-9A-Za-z]))`,
  'gu',
)
/** Letters, digits, dashes and invisible characters of any script: a code in other groups, or in wide characters. */
const PART = String.raw`[\p{L}\p{N}\p{Dash}\p{Default_Ignorable_Code_Point}]`
const WORD = new RegExp(`(?<!${PART})${PART}{16,48}(?!${PART})`, 'gu')
const ISSUED_CODE = /^[0-9A-Z]{4}(?:-[0-9A-Z]{4}){3}$/
const SECRET_LENGTH_MIN = 16

const hidden = (_secret: string): string => HIDDEN

/** Replaces what has the form of a token or JWT, and of a redeem code or QR token in the spellings of people. */
export function replaceSecretForms(text: string, tokenText = hidden, codeText = hidden): string {
  if (text.length < SECRET_LENGTH_MIN) return text
  const shown = text
    .replace(TOKEN, tokenText)
    .replace(DOTTED, (it) => {
      const at = it.search(JWT_BEGINNING)
      return at === -1 ? it : `${it.slice(0, at)}${tokenText(it.slice(at))}`
    })
    .replace(QR_TOKEN, codeText)
  return replaceCodes(shown, codeText).replace(WORD, (it) => (isCode(it) ? codeText(it) : it))
}

/** Tries each group of symbols as the first one, because what precedes a code may look like a part of it. */
function replaceCodes(text: string, codeText: (code: string) => string): string {
  const found: [from: number, to: number][] = []
  for (const { index, 1: code = '' } of text.matchAll(CODE)) {
    if (!ISSUED_CODE.test(code) && !isCode(code.replace(GAPS, ''))) continue
    const last = found.at(-1)
    if (last !== undefined && index < last[1]) last[1] = index + code.length
    else found.push([index, index + code.length])
  }
  const ends = [0, ...found.map(([, to]) => to)]
  const shown = found.map(([from, to], at) => text.slice(ends[at], from) + codeText(text.slice(from, to)))
  return shown.join('') + text.slice(ends.at(-1))
}

/** True for a spelling with a right check symbol. Without a digit it is words, without a letter a number. */
function isCode(text: string): boolean {
  if (!/\p{N}/u.test(text) || !/\p{L}/u.test(text)) return false
  const symbols = readRedeemCode(text)
  return symbols !== null && hasCheckSymbol(symbols)
}

/** Hides these forms in what an operator sees (DECISIONS.md#shown-credentials). */
export const hideForms = (text: string): string => replaceSecretForms(text)

/** A secret as it is written in text, JSON and URLs. Half of a surrogate pair has no form in a URL. */
export const encodingsOf = (secret: string): readonly string[] => [
  ...new Set([secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret.replace(/\p{Cs}/gu, '\ufffd'))]),
]
