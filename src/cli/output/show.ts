import type { Screen } from './screen.js'
import { type List, valueAt } from './select-fields.js'
import { cut, GAP, labelOf, memberText, paintCell, plainLine, showRecord, widthOf } from './text.js'

const NARROWEST = 8
/** Minimum width of a shortened id: the prefix of its kind and 7 more characters. */
const ID_NARROWEST = 12
/** Number of rows that determine the column widths, so that a list of any length is printed as it arrives. */
const MEASURED_ROWS = 1_000

/** Formats a list as a table; `cutsIds` is true if ids are shortened. @param empty text for a list without items */
export function showList(
  { items, pagination }: List,
  members: readonly string[] | undefined,
  screen: Screen,
  empty = 'Nothing to show.',
) {
  const { page, pages, total } = pagination ?? { page: 1, pages: 1, total: 0 }
  const quiet = (text: string) => `${screen.paint.quiet(plainLine(text))}\n`
  if (items.length === 0 && total > 0 && page > pages) {
    const last = `${pages === 1 ? 'there is 1 page' : `there are ${pages} pages`} (${total} in all)`
    return { text: quiet(`Page ${page} is beyond the last: ${last}.`), cutsIds: false }
  }
  if (items.length === 0) return { text: quiet(empty), cutsIds: false }
  const texts: string[] = []
  let layout: Layout | undefined
  for (let at = 0; at < items.length; at += MEASURED_ROWS) {
    const rows = showRows(items.slice(at, at + MEASURED_ROWS), members, screen, layout)
    texts.push(rows.text)
    layout = rows.layout
  }
  const footer = pages > 1 ? `\n${quiet(pageOf(page, pages, total))}` : ''
  return { text: `${texts.join('')}${footer}`, cutsIds: layout?.cutsIds === true }
}

/** Line below a list of several pages. */
export const pageOf = (page: number, pages: number, total: number) =>
  `Page ${page} of ${pages} (${total} in all).${page < pages ? ` More: --page ${page + 1}, or --all.` : ''}`

/** Layout of a table, passed on to the rows of the next page. */
export interface Layout {
  readonly columns: readonly string[]
  readonly widths: readonly number[]
  /** True for columns of numbers, which are aligned to the right. */
  readonly isNumeric: readonly boolean[]
  readonly rows: number
  /** True if the table omits relative times to fit the terminal. */
  readonly isTight: boolean
  readonly cutsIds: boolean
  /** True if the terminal is too narrow for a table, and each row is printed as a record. */
  readonly asRecords?: true
}

/**
 * Formats table rows below the header or below earlier rows. The first 1,000 rows determine the column widths. On a
 * narrow terminal it shortens ids, then times, then texts (rules/cli.md#tables); if even that does not fit, it formats
 * each row as a record.
 */
export function showRows(
  items: readonly unknown[],
  members: readonly string[] | undefined,
  screen: Screen,
  above?: Layout,
): { readonly text: string; readonly layout: Layout } {
  const { paint, width, now, zone } = screen
  const columns = above?.columns ?? members ?? Object.keys(items[0] ?? {})
  const heads = columns.map((name) => labelOf(name).toUpperCase())
  const isNumeric = above?.isNumeric ?? columns.map((name) => isNumbers(items.map((item) => valueAt(item, name))))
  const textsOf = (tight: boolean) =>
    items.map((item) => columns.map((name) => memberText(name, valueAt(item, name), zone, tight ? undefined : now)))
  const paintOf = (name: string, text: string) => paintCell(name, text, paint)
  const rows = (above?.rows ?? 0) + items.length
  if (above !== undefined && above.rows >= MEASURED_ROWS && !above.asRecords) {
    const lines = textsOf(above.isTight).map((row) => lineOf(row, above, width, paintOf))
    return { text: lines.join(''), layout: { ...above, rows } }
  }
  const full = textsOf(false)
  const natural = widthsOf([heads, ...full], above?.widths)
  const short = width === undefined ? natural : fitIds(columns, natural, width)
  const isTight = width !== undefined && totalOf(short) > width
  const texts = isTight ? textsOf(true) : full
  const widths = isTight ? fitWidths(columns, [heads, ...texts], above?.widths, width) : short
  const cutsIds = columns.some((name, i) => isId(name) && texts.some((row) => widthOf(row[i] ?? '') > (widths[i] ?? 0)))
  const layout = { columns, widths, isNumeric, rows, isTight, cutsIds }
  if (above?.asRecords || (width !== undefined && totalOf(widths) > width)) {
    const records = items.map((item) => showRecord(item, columns, screen))
    return {
      text: `${above === undefined ? '' : '\n'}${records.join('\n')}`,
      layout: { ...layout, cutsIds: false, asRecords: true },
    }
  }
  const noColumns = { ...layout, columns: [] }
  const head = above === undefined ? lineOf(heads, noColumns, width, (_, text) => paint.quiet(text)) : ''
  const lines = texts.map((row) => lineOf(row, layout, width, paintOf))
  return { text: head + lines.join(''), layout }
}

/** Formats a row. On a terminal it truncates texts that are longer than their column. */
function lineOf(
  row: readonly string[],
  { columns, widths, isNumeric, cutsIds }: Layout,
  width: number | undefined,
  paintOf: (name: string, text: string) => string,
): string {
  const cells = row.map((text, i) => {
    const room = widths[i] ?? 0
    const name = columns[i] ?? ''
    // An id longer than in the first rows stays whole if the ids there are whole.
    const isWhole = width === undefined || (isId(name) && !cutsIds)
    const shown = isWhole ? text : cut(cutId(name, text, room), room)
    const padding = ' '.repeat(Math.max(0, room - widthOf(shown)))
    const cell = paintOf(name, shown)
    return `${isNumeric[i] ? padding + cell : cell + padding}${' '.repeat(GAP)}`
  })
  return `${cells.join('').trimEnd()}\n`
}

const isNumbers = (values: readonly unknown[]) =>
  values.some((it) => typeof it === 'number') && values.every((it) => typeof it === 'number' || it == null)

const isId = (name: string) => /^id$|Id$|_id$/.test(name)

/** Shortens the middle of an id: the prefix names the kind, and the end distinguishes ids of the same time. */
function cutId(name: string, id: string, room: number): string {
  if (!isId(name) || widthOf(id) <= room || room < ID_NARROWEST) return id
  const head = /^[a-z]{1,4}_/.exec(id)?.[0] ?? id.slice(0, 4)
  return `${head}…${id.slice(head.length + 1 - room)}`
}

export const widthsOf = (rows: readonly (readonly string[])[], above: readonly number[] = []): number[] =>
  (rows[0] ?? []).map((_head, i) =>
    rows.reduce((widest, row) => Math.max(widest, widthOf(row[i] ?? '')), above[i] ?? 0),
  )

export const totalOf = (widths: readonly number[]) => widths.reduce((sum, it) => sum + it + GAP, -GAP)

/** Narrows the widest of some columns first until all columns fit, but no column below its minimum width. */
export function narrow(natural: readonly number[], floors: readonly number[], width: number): number[] {
  const widths = [...natural]
  while (totalOf(widths) > width) {
    const widest = Math.max(...widths.filter((it, i) => it > (floors[i] ?? 0)))
    if (!Number.isFinite(widest)) break
    const index = widths.findIndex((it, i) => it === widest && it > (floors[i] ?? 0))
    widths[index] = widest - 1
  }
  return widths
}

const fitIds = (columns: readonly string[], natural: readonly number[], width: number) =>
  narrow(
    natural,
    columns.map((name) => (isId(name) ? ID_NARROWEST : Number.POSITIVE_INFINITY)),
    width,
  )

function fitWidths(
  columns: readonly string[],
  rows: readonly (readonly string[])[],
  above: readonly number[] | undefined,
  width: number,
): number[] {
  const floors = columns.map((_name, i) =>
    Math.max(NARROWEST, ...rows.map((row) => WHOLE.exec(row[i] ?? '')?.[0].length ?? 0)),
  )
  const ids = columns.map((name) => (isId(name) ? ID_NARROWEST : 0))
  const short = fitIds(columns, widthsOf(rows, above), width)
  return narrow(
    short,
    floors.map((it, i) => Math.max(it, ids[i] ?? 0)),
    width,
  )
}

/** Matches texts that a narrow table does not shorten: times, and pins, which are useless in parts. */
const WHOLE = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d)$|^sha256:.*$/
