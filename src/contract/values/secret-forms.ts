import { hasCheckSymbol, readRedeemCode } from '../credential-symbols.js'

const TOKEN = /(?:sop|sbot|opk)_[\w-]{16,}/gi
/** Parts with a dot between them. A match begins only where a word does: otherwise a long word takes quadratic time. */
const DOTTED = /(?<![\w-])[\w-]{11,}\.[\w-]{8,}(?:\.[\w-]*)*/g
/** Beginning of a JWT, in any part, and the fewest characters after it. */
const JWT_BEGINNING = /eyJ[\w-]{8}/i
const QR_TOKEN = /VQ1-[0-9A-Z]{20,}/gi
/** Four groups of four symbols, with what people type between them. */
const CODE =
  /(?<![0-9A-Za-z-])[0-9A-Za-z]{4}(?:[\p{White_Space}\p{Dash}\p{Default_Ignorable_Code_Point}]*[0-9A-Za-z]{4}){3}(?![0-9A-Za-z-])/gu
/** A code between other parts of a name, such as the idempotency key `redeem-CODE-1`. */
const CODE_IN_NAME = /(?<![0-9A-Za-z])(?:[0-9A-Za-z]{4}(?:-[0-9A-Za-z]{4}){3,}|[0-9A-Za-z]{16})(?![0-9A-Za-z])/g
const ISSUED_CODE = /^[0-9A-Z]{4}(?:-[0-9A-Z]{4}){3}$/
const SECRET_LENGTH_MIN = 16

/** Replaces what has the form of a token or JWT, and of a redeem code or QR token in any spelling. */
export function replaceSecretForms(
  text: string,
  tokenText: (token: string) => string,
  codeText: (code: string) => string,
): string {
  if (text.length < SECRET_LENGTH_MIN) return text
  return text
    .replace(TOKEN, tokenText)
    .replace(DOTTED, (it) => {
      const at = it.search(JWT_BEGINNING)
      return at === -1 ? it : `${it.slice(0, at)}${tokenText(it.slice(at))}`
    })
    .replace(QR_TOKEN, codeText)
    .replace(CODE, (it) => (isCode(it) ? codeText(it) : it))
    .replace(CODE_IN_NAME, (it) => (hasCode(it) ? codeText(it) : it))
}

/** True for the issued form of a code, and for a spelling with a right check symbol. Text without a digit is words. */
function isCode(text: string): boolean {
  if (ISSUED_CODE.test(text)) return true
  const symbols = /\d/.test(text) ? readRedeemCode(text) : null
  return symbols !== null && hasCheckSymbol(symbols)
}

const hasCode = (name: string) =>
  name.split('-').some((_, index, groups) => isCode(groups.slice(index, index + 4).join('-')))
