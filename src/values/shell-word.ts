/** A text in which shell variables stand in place of secrets. */
export type ShellText = string | readonly ShellPart[]

/** Text, or a variable such as `CODE`, or `CODE:?`, which the shell refuses to expand if it is not set. */
export type ShellPart = string | { readonly variable: string }

/** Matches text that needs no quotes in a shell. */
const BARE = /^[\w./+:@%,=-]+$/

/** Matches text that a shell does not change between double quotes. */
const PLAIN = /^[\w./+:@%,=?& -]+$/

/** Matches control and invisible characters, bidi controls, line separators, and lone surrogates. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

/** Quotes any text as one printable word for bash without changing its bytes; only variables are expanded. */
export function shellWord(text: ShellText): string {
  const parts = [text].flat().filter((it) => it !== '')
  if (parts.every(isText)) return quoted(parts.join(''))
  if (parts.every((it) => !isText(it) || PLAIN.test(it)))
    return `"${parts.map((it) => (isText(it) ? it : reference(it))).join('')}"`
  return parts.map((it) => (isText(it) ? quoted(it) : `"${reference(it)}"`)).join('')
}

const isText = (part: ShellPart) => typeof part === 'string'
const reference = ({ variable }: Exclude<ShellPart, string>) => `\${${variable}}`

const quoted = (text: string): string =>
  BARE.test(text) ? text : UNPRINTABLE.test(text) ? escaped(text) : inSingleQuotes(text)

/** Quotes a printable text for every POSIX shell, even if it needs no quotes. */
export const inSingleQuotes = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** Quotes as `$'…'`, with bytes as \xHH (\u depends on the locale) and `!` escaped against history expansion. */
function escaped(text: string): string {
  const letters = [...text].map((char) => {
    if (/^[\x20-\x7e]$/.test(char)) return "'\\!".includes(char) ? hex(char) : char
    return UNPRINTABLE.test(char) ? hex(char) : char
  })
  return `$'${letters.join('')}'`
}

const hex = (text: string) =>
  Array.from(new TextEncoder().encode(text), (it) => `\\x${it.toString(16).padStart(2, '0')}`).join('')
