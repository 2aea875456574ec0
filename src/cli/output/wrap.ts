/** Breaks a text at spaces into lines of at most `width` characters; a longer word gets a line of its own. */
export function wrap(text: string, width: number, indent = ''): string[] {
  const wrapped: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      wrapped.push(line)
      line = indent + word
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  return [...wrapped, line]
}
