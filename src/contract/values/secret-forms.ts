import { hasCheckSymbol, readRedeemCode } from '../credential-symbols.js'

/** Ends where a name may begin: not within a word, but after an escape of JSON or of a URL. */
const BEFORE = String.raw`(?<![0-9A-Za-z])|(?<=\\[bfnrt]|%[0-9A-Fa-f]{2})`

const TOKEN = new RegExp(`(?:${BEFORE})(?:sop|sbot|opk)(?:_|%5f)[\\w-]{16,}`, 'gi')
/** Parts with a dot between them. A match begins only where a word does: otherwise a long word takes quadratic time. */
const DOTTED = /(?<![\w-])[\w-]{11,}(?:\.|%2E)[\w-]{8,}(?:(?:\.|%2E)[\w-]*)*/g
/** Beginning of a JWT, in any part, and the fewest characters after it. */
const JWT_BEGINNING = new RegExp(`(?:${BEFORE})eyJ[\\w-]{8}`)
const QR_TOKEN = /VQ1-[0-9A-Z]{20,}/gi
/** Four groups of four symbols, with what people or URLs put between them. */
const CODE = new RegExp(
  `(?:${BEFORE})[0-9A-Za-z]{4}(?:(?:[\\p{White_Space}\\p{Dash}\\p{Default_Ignorable_Code_Point}]|%20|\\+)*[0-9A-Za-z]{4}){3}(?![0-9A-Za-z-])`,
  'gu',
)
/** A code between other parts of a name, such as the idempotency key `redeem-CODE-1`. */
const CODE_IN_NAME = /(?<![0-9A-Za-z])(?:[0-9A-Za-z]{4}(?:-[0-9A-Za-z]{4}){3,}|[0-9A-Za-z]{16})(?![0-9A-Za-z])/g
/** A word of letters, digits and dashes of any script: a code in other groups, or in wide characters. */
const WORD = /(?<![\p{L}\p{N}\p{Dash}])[\p{L}\p{N}\p{Dash}]{16,48}(?![\p{L}\p{N}\p{Dash}])/gu
const ISSUED_CODE = /^[0-9A-Z]{4}(?:-[0-9A-Z]{4}){3}$/
/** An id of a trace, which has the form of a code by chance; a code with such symbols alone is one of 65,000. */
const HEXADECIMAL = /^[0-9a-f]{16}$/
const SECRET_LENGTH_MIN = 16

/** Replaces what has the form of a token or JWT, and of a redeem code or QR token in the spellings of people. */
export function replaceSecretForms(
  text: string,
  tokenText: (token: string) => string,
  codeText: (code: string) => string,
): string {
  if (text.length < SECRET_LENGTH_MIN) return text
  const shown = text
    .replace(TOKEN, tokenText)
    .replace(DOTTED, (it) => {
      const at = it.search(JWT_BEGINNING)
      return at === -1 ? it : `${it.slice(0, at)}${tokenText(it.slice(at))}`
    })
    .replace(QR_TOKEN, codeText)
  return replaceCodes(shown, codeText)
    .replace(CODE_IN_NAME, (it) => (hasCode(it) ? codeText(it) : it))
    .replace(WORD, (it) => (isCode(it) ? codeText(it) : it))
}

/** Tries each group of four symbols as the first one, because the word before a code may have four letters too. */
function replaceCodes(text: string, codeText: (code: string) => string): string {
  let shown = ''
  let shownTo = 0
  CODE.lastIndex = 0
  for (let found = CODE.exec(text); found !== null; found = CODE.exec(text)) {
    const [code] = found
    if (isCode(code.replaceAll('%20', ' ').replaceAll('+', ' '))) {
      shown += text.slice(shownTo, found.index) + codeText(code)
      shownTo = CODE.lastIndex
    } else CODE.lastIndex = found.index + 1
  }
  return shown + text.slice(shownTo)
}

/** True for the issued form of a code, and for a spelling with a right check symbol. Text without a digit is words. */
function isCode(text: string): boolean {
  if (ISSUED_CODE.test(text)) return true
  if (HEXADECIMAL.test(text) || !/\p{N}/u.test(text)) return false
  const symbols = readRedeemCode(text)
  return symbols !== null && hasCheckSymbol(symbols)
}

const hasCode = (name: string) =>
  name.split('-').some((_, index, groups) => isCode(groups.slice(index, index + 4).join('-')))
