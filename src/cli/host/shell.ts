/** Text that a shell takes as it stands. */
const BARE = /^[\w./+:@%,=-]+$/

/** Control characters, what turns the writing direction, separators of lines, and lone surrogates. */
const UNPRINTABLE =
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/

/** One word for bash, whatever is in it: printable on a terminal, and the same bytes when it is run. */
export function shellWord(text: string): string {
  if (BARE.test(text)) return text
  return UNPRINTABLE.test(text) ? escaped(text) : `'${text.replaceAll("'", "'\\''")}'`
}

/** `$'…'`: bytes as \xHH, since \u would depend on the locale; `!` too, for the history of an interactive shell. */
function escaped(text: string): string {
  const letters = [...text].map((it) => {
    if (/^[\x20-\x7e]$/.test(it)) return "'\\!".includes(it) ? hex(it) : it
    return UNPRINTABLE.test(it) ? hex(it) : it
  })
  return `$'${letters.join('')}'`
}

const hex = (text: string) => [...Buffer.from(text)].map((it) => `\\x${it.toString(16).padStart(2, '0')}`).join('')
