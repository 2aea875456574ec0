import {
  concatTransformationMatrix,
  fill,
  grayscale,
  PDFDocument,
  type PDFFont,
  PDFOperator,
  PDFOperatorNames,
  type PDFPage,
  PrintScaling,
  popGraphicsState,
  pushGraphicsState,
  StandardFonts,
  setFillingGrayscaleColor,
} from '@pdfme/pdf-lib'
import type { ValidationIssue } from '../../../../contract/envelope.js'
import { darkRuns, modulesOf } from '../../../output/qr.js'
import { card, type Label, LONG_CODE, pagesOf, papers, type Sheet } from './layout.js'

const POINTS_PER_MM = 72 / 25.4
const CARD = { width: card.width * POINTS_PER_MM, height: card.height * POINTS_PER_MM }
const PADDING = 9
/** Side of a QR code with its light margin, in points (42 mm). */
const QR_SIDE = 42 * POINTS_PER_MM
const TEXT_LEFT = QR_SIDE + PADDING
const TEXT_WIDTH = CARD.width - TEXT_LEFT - PADDING
const TEXT_HEIGHT = CARD.height - 2 * PADDING
const LINE_HEIGHT = 1.2
const GREY = grayscale(0.6)

interface TextStyle {
  readonly font: PDFFont
  /** Font size in points, if all texts of the card fit; that of a code depends on its length alone. */
  readonly size: number
  /** Space below the text, as a part of the font size. */
  readonly gap: number
}

type Styles = Readonly<Record<'title' | 'issuer' | 'detail' | 'code', TextStyle>>

/** Draws a sheet as PDF; returns issues in place of bytes if its fonts lack characters of the labels. */
export async function pdfOf(sheet: Sheet, signal: AbortSignal): Promise<Uint8Array | readonly ValidationIssue[]> {
  const document = await PDFDocument.create()
  const [regular, bold, code] = await Promise.all(
    [StandardFonts.Helvetica, StandardFonts.HelveticaBold, StandardFonts.CourierBold].map((it) =>
      document.embedFont(it),
    ),
  )
  if (regular === undefined || bold === undefined || code === undefined) return []
  const known = new Set(regular.getCharacterSet())
  const issues = sheet.labels.flatMap((it) => issueOf(it, known))
  if (issues.length > 0) return issues
  document.setTitle('Vouchers', { showInWindowTitleBar: true })
  document.setCreator('voucherctl')
  document.setLanguage('en')
  // Viewers scale to the printable area otherwise, and the cards would not have their size.
  document.catalog.getOrCreateViewerPreferences().setPrintScaling(PrintScaling.None)
  const styles: Styles = {
    title: { font: bold, size: 12, gap: 0.3 },
    issuer: { font: regular, size: 8, gap: 0.5 },
    detail: { font: regular, size: 7, gap: 0.3 },
    code: { font: code, size: 0, gap: 0 },
  }
  const { width, height } = papers[sheet.paper]
  const [pageWidth, pageHeight] = [width * POINTS_PER_MM, height * POINTS_PER_MM]
  const left = (pageWidth - card.columns * CARD.width) / 2
  const top = (pageHeight + card.rows * CARD.height) / 2
  for await (const { labels, footer } of pagesOf(sheet, signal)) {
    const page = document.addPage([pageWidth, pageHeight])
    for (const [i, label] of labels.entries()) {
      const x = left + (i % card.columns) * CARD.width
      const y = top - Math.floor(i / card.columns) * CARD.height
      await drawCard(page, label, { x, y }, styles)
    }
    page.drawText(footer, {
      x: (pageWidth - regular.widthOfTextAtSize(footer, 7)) / 2,
      y: 18,
      size: 7,
      font: regular,
      color: GREY,
    })
  }
  return document.save()
}

/** Names the characters of a label that the fonts lack. */
function issueOf({ line, title = '', issuer = '', code = '', details }: Label, known: ReadonlySet<number>) {
  const texts = [title, issuer, code, ...details]
  const missing = new Set([...texts.join('')].filter((it) => !known.has(it.codePointAt(0) as number)))
  if (missing.size === 0) return []
  const names = [...missing].slice(0, 3).map((it) => {
    const point = (it.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0')
    return `${it} (U+${point})`
  })
  const more = missing.size > 3 ? ` and ${missing.size - 3} more` : ''
  return [
    {
      pointer: `line ${line}`,
      code: 'CHARACTER_MISSING',
      message: `a PDF sheet cannot print ${names.join(', ')}${more}`,
    },
  ]
}

/** Draws a card whose upper left corner is at a point. */
async function drawCard(
  page: PDFPage,
  label: Label,
  { x, y }: { readonly x: number; readonly y: number },
  styles: Styles,
): Promise<void> {
  page.drawRectangle({ x, y: y - CARD.height, ...CARD, borderColor: GREY, borderWidth: 0.5 })
  drawQr(page, await modulesOf(label.qrToken, 'medium'), x + PADDING / 2, y - (CARD.height - QR_SIDE) / 2)
  let blocks = blocksOf(label, styles, 1)
  for (let scale = 0.95; heightOf(blocks) > TEXT_HEIGHT; scale *= 0.95) blocks = blocksOf(label, styles, scale)
  let baseline = y - PADDING
  for (const { lines, font, size, gap } of blocks) {
    // The code stands at the bottom, where the eye finds it on every card.
    if (font === styles.code.font) baseline = y - PADDING - TEXT_HEIGHT + lines.length * size * LINE_HEIGHT
    for (const line of lines) {
      page.drawText(line, { x: x + TEXT_LEFT, y: baseline - size, size, font })
      baseline -= size * LINE_HEIGHT
    }
    baseline -= gap * size
  }
}

/** Breaks the texts of a label into lines, from top to bottom. */
function blocksOf({ title, issuer, details, code }: Label, styles: Styles, scale: number) {
  const texts: [string | undefined, TextStyle][] = [
    [title, styles.title],
    [issuer, styles.issuer],
    ...details.map((it): [string, TextStyle] => [it, styles.detail]),
    [code, styles.code],
  ]
  return texts.flatMap(([text, style]) => {
    if (text === undefined) return []
    const size = style === styles.code ? codeSize(text) : style.size * scale
    return { ...style, size, lines: linesOf(text, (it) => style.font.widthOfTextAtSize(it, size) <= TEXT_WIDTH) }
  })
}

/** A code of another server may be longer than the 19 characters that fit a line. */
const codeSize = (code: string) => (code.length > LONG_CODE ? 5 : 10)

const heightOf = (blocks: ReturnType<typeof blocksOf>) =>
  blocks.reduce((sum, { lines, size, gap }) => sum + (lines.length * LINE_HEIGHT + gap) * size, 0)

/** Draws a QR code as one path, because rasterisers show gaps between paths that touch. */
function drawQr(page: PDFPage, modules: readonly (readonly boolean[])[], left: number, top: number): void {
  const side = QR_SIDE / modules.length
  // One operator with the text of all rectangles: an object for each would take four times the memory.
  const path = Array.from(darkRuns(modules), ({ x, y, length }) => `${x} ${y} ${length} 1`).join(' re ')
  page.pushOperators(
    pushGraphicsState(),
    setFillingGrayscaleColor(0),
    concatTransformationMatrix(side, 0, 0, -side, left, top),
    PDFOperator.of(PDFOperatorNames.AppendRectangle, [path]),
    fill(),
    popGraphicsState(),
  )
}

/** Breaks a text at spaces, and inside words that are longer than a line. */
function linesOf(text: string, fits: (line: string) => boolean): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`
    if (fits(longer)) {
      line = longer
      continue
    }
    if (line !== '') lines.push(line)
    line = ''
    for (const character of word) {
      if (!fits(line + character)) {
        lines.push(line)
        line = ''
      }
      line += character
    }
  }
  return [...lines, line]
}
