/** Breaks a text at spaces into lines of at most `width` characters; a longer word gets a line of its own. */
export function wrap(text: string, width: number, indent = ''): string[] {
  return wrapWords(text.split(' '), width, indent)
}

/** Splits a text at spaces, except in a suggested command, which stays on one line so that it can be copied. */
function wordsOf(text: string): string[] {
  const words = text.replace(/`[^`]*`/g, (command) => command.replaceAll(' ', '\0')).split(' ')
  return words.map((it) => it.replaceAll('\0', ' '))
}

/** Matches what the further lines of a message are indented by: its own indent, and the label of its first line. */
const START = /^ *(?:(?:error|hint|warning|note): )?/

const COLOURS = /\u001b\[[\d;]*m/g

const lengthOf = (text: string) => text.replaceAll(COLOURS, '').length

/** Breaks the lines of a message for a terminal of `width` columns. */
export function wrapMessage(message: string, width: number): string {
  const broken = message.split('\n').flatMap((line) => {
    if (lengthOf(line) <= width) return [line]
    const [start] = START.exec(line.replaceAll(COLOURS, '')) ?? ['']
    const [first = '', ...words] = wordsOf(line.trimStart())
    const own = line.slice(0, line.length - line.trimStart().length)
    return wrapWords([own + first, ...words], width, ' '.repeat(start.length))
  })
  return broken.join('\n')
}

export function wrapWords(words: readonly string[], width: number, indent: string): string[] {
  const wrapped: string[] = []
  let line = ''
  for (const word of words) {
    if (line !== '' && lengthOf(line) + 1 + lengthOf(word) > width) {
      wrapped.push(line)
      line = indent + word
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  return [...wrapped, line]
}
