import { createHash } from 'node:crypto'
import { modulesOf, svgOf } from '../../../output/qr.js'
import { escapeHtml } from '../../../output/text.js'

const papers = {
  a4: { width: 210, height: 297 },
  letter: { width: 215.9, height: 279.4 },
} as const
type Paper = keyof typeof papers

/** Card in millimetres, the size of a business card: ten fit on a page of both papers, with a margin. */
const card = { width: 88.9, height: 50.8, columns: 2, rows: 5 } as const
/** Maximum characters of a code in the normal font size, which fit two lines; a longer code is printed smaller. */
const LONG_CODE = 38
export const CARDS_PER_PAGE = card.columns * card.rows

export interface Label {
  /** Line of the input file. */
  readonly line: number
  readonly qrToken: string
  readonly title: string | undefined
  readonly issuer: string | undefined
  readonly code: string | undefined
  /** Validity, recipient and external id. */
  readonly details: readonly string[]
}

interface Sheet {
  readonly labels: readonly Label[]
  readonly paper: Paper
}

/** Splits the labels into pages. The event loop runs between pages, so that Ctrl-C can end the work. */
async function* pagesOf({ labels }: Sheet, signal: AbortSignal) {
  const total = Math.ceil(labels.length / CARDS_PER_PAGE)
  for (let number = 1; number <= total && !signal.aborted; number += 1) {
    await new Promise(setImmediate)
    const footer = `Page ${number} of ${total}`
    yield { footer, labels: labels.slice((number - 1) * CARDS_PER_PAGE, number * CARDS_PER_PAGE) }
  }
}

/** Font sizes in points by the maximum units of text on a card; a character beyond Latin counts two units. */
const sizes = [
  { size: 8, units: 170 },
  { size: 6.5, units: 280 },
  { size: 5, units: 450 },
  { size: 4, units: Number.POSITIVE_INFINITY },
] as const

/** Writes a sheet as one HTML file without external resources and scripts. */
export async function htmlOf(sheet: Sheet, signal: AbortSignal): Promise<Uint8Array[]> {
  const style = styleOf(papers[sheet.paper])
  const hash = createHash('sha256').update(style).digest('base64')
  const parts = [
    `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-${hash}'">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<title>Vouchers</title>
<style>${style}</style>
</head>
<body>
`,
  ]
  for await (const { labels, footer } of pagesOf(sheet, signal)) {
    const cards = await Promise.all(labels.map(cardOf))
    parts.push(`<section>\n<main>\n${cards.join('')}</main>\n<footer>${footer}</footer>\n</section>\n`)
  }
  return [...parts, '</body>\n</html>\n'].map((it) => Buffer.from(it))
}

async function cardOf({ qrToken, title, issuer, code, details }: Label): Promise<string> {
  const svg = svgOf(await modulesOf(qrToken, 'medium'))
  const lines = [element('h2', title), element('p', issuer), ...details.map((it) => element('small', it))]
  const texts = [title, issuer, ...details].join('')
  const units = texts.length + (texts.match(/[^\u0000-\u024f]/g) ?? []).length
  const size = sizes.findIndex((it) => units <= it.units)
  return `<article class="size${size}">\n${svg}<div>\n<div>\n${lines.join('')}</div>\n${element('code', code, (code?.length ?? 0) > LONG_CODE ? ' class="long"' : '')}</div>\n</article>\n`
}

/** dir="auto" displays right-to-left text correctly, without an effect on the text around it. */
const element = (name: string, text: string | undefined, attribute = '') =>
  text === undefined ? '' : `<${name} dir="auto"${attribute}>${escapeHtml(text)}</${name}>\n`

const styleOf = ({ width, height }: { readonly width: number; readonly height: number }) => `
@page { size: ${width}mm ${height}mm; margin: 0 }
* { box-sizing: border-box; margin: 0; padding: 0 }
body { font: 8pt/1.2 system-ui, "Noto Sans", sans-serif; color: #000; background: #ddd }
section { position: relative; width: ${width}mm; height: ${height}mm; margin: 0 auto 5mm; background: #fff; display: flex; align-items: center; justify-content: center; break-after: page; overflow: hidden }
section:last-child { break-after: auto }
main { display: grid; grid-template-columns: repeat(${card.columns}, ${card.width}mm); grid-auto-rows: ${card.height}mm; height: ${card.rows * card.height}mm; width: ${card.columns * card.width}mm }
article { display: flex; align-items: center; outline: 0.2mm solid #999; padding: 3mm 3mm 3mm 2mm }
${sizes.map(({ size }, i) => `.size${i} { font-size: ${size}pt }`).join('\n')}
svg { flex: none; width: 42mm; height: 42mm }
div { flex: 1; min-width: 0; min-height: 0; display: flex; flex-direction: column; overflow: hidden; overflow-wrap: anywhere }
article > div { height: 100% }
h2 { font-size: 1.4em; line-height: 1.15; margin-bottom: 0.4em }
p { margin-bottom: 0.5em }
small { font-size: 0.875em; margin-bottom: 0.3em }
code { flex: none; font: bold 9.5pt "Courier New", "Liberation Mono", monospace }
.long { font-size: 5pt }
footer { position: absolute; bottom: 5mm; left: 0; right: 0; text-align: center; font-size: 7pt; color: #666 }
@media print { body { background: none } section { margin: 0 } }
`
