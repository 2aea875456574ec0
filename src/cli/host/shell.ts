/** Text that a shell needs no quotes for. */
const BARE = /^[\w./+:@%,=-]+$/

/** Control characters, bidi controls, line separators, and lone surrogates. */
const UNPRINTABLE =
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/

/** Quotes any text as one word for bash that is printable and keeps its bytes. */
export function shellWord(text: string): string {
  if (BARE.test(text)) return text
  return UNPRINTABLE.test(text) ? escaped(text) : `'${text.replaceAll("'", "'\\''")}'`
}

/** `$'…'` with bytes as \xHH, since \u depends on the locale, and with `!` escaped against history expansion. */
function escaped(text: string): string {
  const letters = [...text].map((it) => {
    if (/^[\x20-\x7e]$/.test(it)) return "'\\!".includes(it) ? hex(it) : it
    return UNPRINTABLE.test(it) ? hex(it) : it
  })
  return `$'${letters.join('')}'`
}

const hex = (text: string) => [...Buffer.from(text)].map((it) => `\\x${it.toString(16).padStart(2, '0')}`).join('')
