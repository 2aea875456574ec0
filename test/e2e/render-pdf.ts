import { createRequire } from 'node:module'
import { join } from 'node:path'
import decodeQr from 'qr/decode.js'
import { folder } from './installed.js'

interface PdfiumPage {
  getText(): string
  render(options: { readonly scale: number; readonly render: 'bitmap' }): Promise<{
    readonly data: Uint8Array
    readonly width: number
    readonly height: number
  }>
}

/** Part of `@hyzyla/pdfium`, which .ci/run installs beside the package. */
interface Pdfium {
  readonly PDFiumLibrary: {
    init(): Promise<{
      loadDocument(bytes: Uint8Array): Promise<{ pages(): Iterable<PdfiumPage>; destroy(): void }>
      destroy(): void
    }>
  }
}

/** Pixels per point: 150 dpi, which is less than any printer has. */
const SCALE = 150 / 72
/** Cards of a page. */
const [COLUMNS, ROWS] = [2, 5]
/** Size of a card in points. */
const CARD = { width: 252, height: 144 }

/** Renders a sheet of vouchers with PDFium; returns the text of each page and the contents of its QR codes. */
export async function renderPdf(bytes: Uint8Array) {
  const { PDFiumLibrary } = createRequire(join(folder, 'package.json'))('@hyzyla/pdfium') as Pdfium
  const library = await PDFiumLibrary.init()
  const document = await library.loadDocument(bytes)
  const pages: { text: string; qrCodes: string[] }[] = []
  for (const page of document.pages()) {
    // Rendering closes the page.
    const text = page.getText()
    const image = await page.render({ scale: SCALE, render: 'bitmap' })
    const [width, height] = [image.width / SCALE, image.height / SCALE]
    const qrCodes: string[] = []
    for (let i = 0; i < COLUMNS * ROWS; i += 1) {
      const left = (width - COLUMNS * CARD.width) / 2 + (i % COLUMNS) * CARD.width
      const top = (height - ROWS * CARD.height) / 2 + Math.floor(i / COLUMNS) * CARD.height
      const card = crop(image, left, top)
      if (!isBlank(card.data)) qrCodes.push(decodeQr(card))
    }
    pages.push({ text, qrCodes })
  }
  document.destroy()
  library.destroy()
  return pages
}

/** Cuts out the left half of a card, which has the QR code. */
function crop(image: { readonly data: Uint8Array; readonly width: number }, left: number, top: number) {
  const [x, y, width, height] = [left + 2, top + 2, CARD.width / 2 - 2, CARD.height - 4].map((it) =>
    Math.round(it * SCALE),
  ) as [number, number, number, number]
  const data = new Uint8Array(width * height * 4)
  for (let row = 0; row < height; row += 1) {
    const start = ((y + row) * image.width + x) * 4
    data.set(image.data.subarray(start, start + width * 4), row * width * 4)
  }
  return { data, width, height }
}

const isBlank = (data: Uint8Array) => data.every((it) => it === 255)
