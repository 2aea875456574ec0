/** Sizes of paper in millimetres. */
export const papers = {
  a4: { width: 210, height: 297 },
  letter: { width: 215.9, height: 279.4 },
} as const
type Paper = keyof typeof papers

/** A voucher has the size of a business card in millimetres: ten fit on a page of both papers, with a margin. */
export const card = { width: 88.9, height: 50.8, columns: 2, rows: 5 } as const
/** Characters of a code that fit two lines; a longer one is printed smaller. */
export const LONG_CODE = 38
export const CARDS_PER_PAGE = card.columns * card.rows

/** What a sheet shows of one voucher. */
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

export interface Sheet {
  readonly labels: readonly Label[]
  readonly paper: Paper
}

/** Splits the labels into pages. The event loop runs between pages, so that Ctrl-C can end the work. */
export async function* pagesOf({ labels }: Sheet, signal: AbortSignal) {
  const total = Math.ceil(labels.length / CARDS_PER_PAGE)
  for (let number = 1; number <= total && !signal.aborted; number += 1) {
    await new Promise(setImmediate)
    const footer = `Page ${number} of ${total}`
    yield { footer, labels: labels.slice((number - 1) * CARDS_PER_PAGE, number * CARDS_PER_PAGE) }
  }
}
