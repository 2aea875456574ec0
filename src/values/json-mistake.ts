const SPACE = /[ \t\n\r]*/y
const TOKEN =
  /[{}[\],:]|"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4}))*"|true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y

/** Kinds of the tokens with which a value begins; `0` stands for numbers and words. */
const VALUE = '{["0'

/** Finds where a text stops being JSON, since messages of JSON.parse differ by version; undefined for valid JSON. */
export function jsonMistake(text: string): { line: number; column: number; message: string } | undefined {
  const open: string[] = []
  let allowed = VALUE
  for (let at = 0; ; ) {
    at += matched(SPACE, text, at).length
    if (at === text.length && allowed === '') return undefined
    const token = matched(TOKEN, text, at)
    const kind = /^[{}[\],:"]/.exec(token)?.[0] ?? '0'
    if (token === '' || !allowed.includes(kind)) {
      const lines = text.slice(0, at).split('\n')
      const wanted = allowed.startsWith(VALUE) ? 'a value' : [...allowed].join(' or ') || 'the end'
      return { line: lines.length, column: (lines.at(-1) ?? '').length + 1, message: `JSON needs ${wanted} here.` }
    }
    const isName = kind === '"' && !allowed.includes('{')
    allowed = isName ? ':' : following(kind, open)
    at += token.length
  }
}

function matched(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0] ?? ''
}

/** Kinds of the tokens that may follow a token. @param open ends of the objects and arrays around it, which it changes */
function following(kind: string, open: string[]): string {
  if (kind === '{' || kind === '[') {
    open.push(kind === '{' ? '}' : ']')
    return kind === '{' ? '"}' : `${VALUE}]`
  }
  if (kind === ':') return VALUE
  if (kind === ',') return open.at(-1) === '}' ? '"' : VALUE
  if (kind === '}' || kind === ']') open.pop()
  return open.length === 0 ? '' : `,${open.at(-1)}`
}
