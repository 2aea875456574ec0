/** Sizes in pixels. */
const [charWidth, lineHeight, margin] = [7.8, 19, 16]

/** Attributes of colour codes. The picture has its own background, so that it suits light and dark pages. */
const styles: Readonly<Record<string, string>> = {
  '1': 'font-weight="bold"',
  '2': 'fill="#9198a1"',
  '31': 'fill="#ff7b72"',
  '32': 'fill="#3fb950"',
  '33': 'fill="#d29922"',
  '36': 'fill="#56d4dd"',
}
const endedStyles: Readonly<Record<string, readonly string[]>> = { '22': ['1', '2'], '39': ['31', '32', '33', '36'] }

/** Escapes a text for XML. Browsers collapse spaces, so several become no-break spaces. */
const escapeText = (text: string) =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll(/ {2,}/g, (it) => '\u00a0'.repeat(it.length))

/** Draws coloured output as SVG; a longer line continues on the next one, as in a terminal. */
export function drawTerminal(session: string, columns: number): string {
  const active = new Set<string>()
  const drawn: string[] = []
  let [row, column] = [0, 0]
  for (const [token, code] of session.trimEnd().matchAll(/\u001b\[(\d+)m|\n|[^\u001b\n]+/g)) {
    if (code !== undefined) {
      for (const style of endedStyles[code] ?? []) active.delete(style)
      if (code in styles) active.add(code)
    } else if (token === '\n') {
      ;[row, column] = [row + 1, 0]
    } else {
      for (let rest = token; rest !== ''; ) {
        if (column === columns) [row, column] = [row + 1, 0]
        const part = rest.slice(0, columns - column)
        rest = rest.slice(part.length)
        const text = part.trimStart()
        const place = {
          x: margin + (column + part.length - text.length) * charWidth,
          y: margin + (row + 0.75) * lineHeight,
          textLength: text.trimEnd().length * charWidth,
        }
        const attributes = Object.entries(place).map(([name, pixels]) => `${name}="${Number(pixels.toFixed(1))}"`)
        const style = [...active].map((it) => ` ${styles[it]}`).join('')
        drawn.push(`<text ${attributes.join(' ')}${style}>${escapeText(text.trimEnd())}</text>`)
        column += part.length
      }
    }
  }
  const [width, height] = [Math.ceil(2 * margin + columns * charWidth), 2 * margin + (row + 1) * lineHeight]
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"
  font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13" fill="#e6edf3">
<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8" fill="#0d1117" stroke="#6e7681"/>
${drawn.filter((it) => !it.endsWith('></text>')).join('\n')}
</svg>
`
}
