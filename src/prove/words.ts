/** Splits a command line into words with the quotes of a shell, without globs, variables or pipes; undefined if a quote is open. */
export function wordsOf(line: string): string[] | undefined {
  const words: string[] = []
  let word: string | undefined
  let quote = ''
  for (let at = 0; at < line.length; at += 1) {
    const char = line[at] as string
    if (quote === '' && /\s/.test(char)) {
      if (word !== undefined) words.push(word)
      word = undefined
      continue
    }
    word ??= ''
    if (char === quote) quote = ''
    else if (quote === '' && (char === '"' || char === "'")) quote = char
    else if (char === '\\' && quote !== "'" && at + 1 < line.length) word += line[++at]
    else word += char
  }
  if (word !== undefined) words.push(word)
  return quote === '' ? words : undefined
}
