/** Matches text that needs no quotes in a shell. */
const BARE = /^[\w./+:@%,=-]+$/

/** Matches control characters, bidi controls, line separators, and lone surrogates. */
const UNPRINTABLE =
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/

/** Quotes any text as one printable word for bash without changing its bytes. */
export function shellWord(text: string): string {
  if (BARE.test(text)) return text
  return UNPRINTABLE.test(text) ? escaped(text) : `'${text.replaceAll("'", "'\\''")}'`
}

/** Quotes as `$'…'`, with bytes as \xHH (\u depends on the locale) and `!` escaped against history expansion. */
function escaped(text: string): string {
  const letters = [...text].map((it) => {
    if (/^[\x20-\x7e]$/.test(it)) return "'\\!".includes(it) ? hex(it) : it
    return UNPRINTABLE.test(it) ? hex(it) : it
  })
  return `$'${letters.join('')}'`
}

const hex = (text: string) => [...Buffer.from(text)].map((it) => `\\x${it.toString(16).padStart(2, '0')}`).join('')
