import type { Paint } from './colour.js'
import { type List, valueAt } from './fields.js'
import { plainLine } from './plain.js'
import { wrap } from './wrap.js'

/** Formats a record as lines of name and value. @param named true with --fields: then empty members are shown too */
export function showRecord(
  record: unknown,
  members: readonly string[] | undefined,
  paint: Paint,
  width?: number,
  named = false,
): string {
  if (typeof record !== 'object' || record === null) return `${textOf(record)}\n`
  const names = members ?? Object.keys(record)
  const rows = names
    .map((name) => [labelOf(name), valueAt(record, name), name] as const)
    .filter(([, value]) => named || !isEmpty(value))
  const labels = Math.max(0, ...rows.map(([label]) => label.length))
  const line = ([label, value, name]: (typeof rows)[number]) => {
    const text = memberText(name, value)
    const beside = wrap(text, width === undefined ? Number.POSITIVE_INFINITY : width - labels - GAP)
    const fits = width === undefined || beside.every((it) => widthOf(it) <= width - labels - GAP)
    // Without the name beside it, a long id may fit on a line of its own.
    const lines = fits ? beside : wrap(text, width - GAP)
    const shown = lines.map((it) => paintCell(name, it, paint)).join(`\n${' '.repeat(fits ? labels + GAP : GAP)}`)
    return fits
      ? `${paint.quiet(label.padEnd(labels))}  ${shown}\n`
      : `${paint.quiet(label)}\n${' '.repeat(GAP)}${shown}\n`
  }
  return rows.map(line).join('')
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true
  return typeof value === 'object' && !Array.isArray(value) && Object.keys(value).length === 0
}

const GAP = 2
const NARROWEST = 8
const DATE_WIDTH = 10
/** Number of rows that determine the column widths: cli-table3 takes 0.4 ms per row, and more in a long table. */
const MEASURED_ROWS = 1_000
const SHOWN_INSTANT = /^\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?Z$/

/** Formats a list as a table. */
export async function showList(
  { items, pagination }: List,
  members: readonly string[] | undefined,
  paint: Paint,
  width: number | undefined,
): Promise<string> {
  if (items.length === 0) return `${paint.quiet('Nothing to show.')}\n`
  const texts: string[] = []
  let layout: Layout | undefined
  for (let at = 0; at < items.length; at += MEASURED_ROWS) {
    const rows = await showRows(items.slice(at, at + MEASURED_ROWS), members, paint, width, layout)
    texts.push(rows.text)
    layout = rows.layout
  }
  const more = typeof pagination === 'object' && pagination !== null && pagination.pages > 1
  const pages = more ? plainLine(`page ${pagination.page} of ${pagination.pages}, ${pagination.total} in all`) : ''
  return `${texts.join('')}${more ? `\n${paint.quiet(pages)}\n` : ''}`
}

/** Layout of a table, passed on to the rows of the next page. */
export interface Layout {
  readonly columns: readonly string[]
  readonly widths: readonly number[]
  /** Number of rows printed so far. */
  readonly rows: number
  /** True if times are shortened so that the table fits the terminal. */
  readonly isTight: boolean
  /** True if the terminal is too narrow for a table, and each row is printed as a record. */
  readonly asRecords?: true
}

/**
 * Formats table rows below the header or below earlier rows. The first 1,000 rows determine the column widths. On a
 * narrow terminal it shortens times, then texts, but never ids; if even the ids do not fit, it formats each row
 * as a record.
 */
export async function showRows(
  items: readonly unknown[],
  members: readonly string[] | undefined,
  paint: Paint,
  width: number | undefined,
  above?: Layout,
): Promise<{ readonly text: string; readonly layout: Layout }> {
  const columns = above?.columns ?? members ?? Object.keys(items[0] ?? {})
  const heads = columns.map((name) => labelOf(name).toUpperCase())
  const textsOf = (short: boolean) =>
    items.map((item) => columns.map((name) => memberText(name, valueAt(item, name), short)))
  const rows = (above?.rows ?? 0) + items.length
  if (above !== undefined && above.rows >= MEASURED_ROWS && !above.asRecords) {
    const lines = textsOf(above.isTight).map((row) => lineOf(row, above, width, paint))
    return { text: lines.join(''), layout: { ...above, rows } }
  }
  const full = textsOf(false)
  const isTight = width !== undefined && totalOf(widthsOf([heads, ...full], above?.widths)) > width
  const texts = isTight ? textsOf(true) : full
  const floors = columns.map((_name, i) =>
    texts.some((row) => SHOWN_INSTANT.test(row[i] ?? '')) ? DATE_WIDTH : NARROWEST,
  )
  const widths = fitWidths(columns, widthsOf([heads, ...texts], above?.widths), floors, width)
  if (above?.asRecords || (width !== undefined && totalOf(widths) > width)) {
    const records = items.map((item) => showRecord(item, columns, paint, width))
    return {
      text: `${above === undefined ? '' : '\n'}${records.join('\n')}`,
      layout: { columns, widths, rows, isTight, asRecords: true },
    }
  }
  const { default: Table } = await import('cli-table3')
  const table = new Table({
    chars: Object.fromEntries(borders.map((name) => [name, ''])),
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': GAP },
    colWidths: widths.map((it) => it + GAP),
  })
  if (above === undefined) table.push(heads.map((head) => paint.quiet(head)))
  for (const row of texts) {
    table.push(row.map((text, i) => paintCell(columns[i] ?? '', withoutTime(text, widths[i] ?? 0), paint)))
  }
  const lines = table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
  return { text: `${lines.join('\n')}\n`, layout: { columns, widths, rows, isTight } }
}

const sides = ['top', 'bottom', 'left', 'right', 'mid', 'middle']
const borders = sides.flatMap((it) => [it, `${it}-left`, `${it}-mid`, `${it}-right`])

/** Formats a row after the first 1,000. On a terminal it truncates long texts; a long id shifts later columns. */
function lineOf(row: readonly string[], { columns, widths }: Layout, width: number | undefined, paint: Paint): string {
  const cells = row.map((text, i) => {
    const room = widths[i] ?? 0
    const name = columns[i] ?? ''
    const shown = width === undefined || isWhole(name) ? text : cut(withoutTime(text, room), room)
    return `${paintCell(name, shown, paint)}${' '.repeat(Math.max(0, room - widthOf(shown)) + GAP)}`
  })
  return `${cells.join('').trimEnd()}\n`
}

/** True for columns that are never truncated: ids, which are useless in part, and times. */
const isWhole = (name: string) => /^id$|Id$|_id$|^time$/.test(name)

/** Shortens an instant to its date if the time does not fit. */
const withoutTime = (text: string, room: number) =>
  text.length > room && SHOWN_INSTANT.test(text) ? text.slice(0, DATE_WIDTH) : text

function cut(text: string, room: number): string {
  if (widthOf(text) <= room) return text
  const characters = [...text]
  while (widthOf(characters.join('')) >= room) characters.pop()
  return `${characters.join('')}…`
}

const widthsOf = (rows: readonly (readonly string[])[], above: readonly number[] = []): number[] =>
  (rows[0] ?? []).map((_head, i) =>
    rows.reduce((widest, row) => Math.max(widest, widthOf(row[i] ?? '')), above[i] ?? 0),
  )

const totalOf = (widths: readonly number[]) => widths.reduce((sum, it) => sum + it + GAP, -GAP)

/** Narrows the widest text column first, but no column below the minimum width. */
function fitWidths(
  columns: readonly string[],
  natural: readonly number[],
  floors: readonly number[],
  width: number | undefined,
): number[] {
  const widths = [...natural]
  const shrinkable = columns.map((name) => !isWhole(name))
  while (width !== undefined && totalOf(widths) > width) {
    const widest = Math.max(...widths.filter((it, i) => shrinkable[i] && it > (floors[i] ?? NARROWEST)))
    if (!Number.isFinite(widest)) break
    const index = widths.findIndex((it, i) => shrinkable[i] && it === widest && it > (floors[i] ?? NARROWEST))
    widths[index] = widest - 1
  }
  return widths
}

/** Number of terminal columns of a text: East Asian wide characters and emoji take two each. */
export function widthOf(text: string): number {
  const wide = text.match(
    /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Extended_Pictographic}/gu,
  )
  return [...text].length + (wide?.length ?? 0)
}

/** Converts a member name such as `externalIssueId` or `external_issue_id` to `external issue id`. */
function labelOf(name: string): string {
  return plainLine(name)
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/[_.]/g, ' ')
    .toLowerCase()
}

const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z$/

/** Formats a value on one line for a person. */
export function textOf(value: unknown, short = false): string {
  if (value === null || value === undefined) return '-'
  if (typeof value === 'string')
    return plainLine(INSTANT.test(value) ? `${value.slice(0, 10)} ${value.slice(11, short ? 16 : 19)}Z` : value)
  if (Array.isArray(value)) return value.map((it) => textOf(it)).join(', ') || '-'
  if (typeof value === 'object') {
    return (
      Object.entries(value)
        .filter(([, it]) => it !== null)
        .map(([name, it]) => `${labelOf(name)} ${memberText(name, it)}`)
        .join(', ') || '-'
    )
  }
  return typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value)
}

/** Names of members that hold Unix seconds (DECISIONS.md#times). Values beyond the range of Date stay numbers. */
const UNIX_SECONDS = /(?:^|[._])date$/
const UNIX_SECONDS_MAX = 8.64e12

/** Omits the year of an instant in a narrow table, but keeps its seconds, as in logs. */
const withoutYear = (instant: string) => `${instant.slice(5, 10)} ${instant.slice(11, 19)}Z`

function memberText(name: string, value: unknown, short = false): string {
  if (short && name === 'time' && typeof value === 'string' && INSTANT.test(value)) return withoutYear(value)
  const isDate = typeof value === 'number' && UNIX_SECONDS.test(name) && Math.abs(value) <= UNIX_SECONDS_MAX
  return textOf(isDate ? new Date(value * 1000).toISOString() : value, short)
}

const paintCell = (name: string, text: string, paint: Paint) =>
  /^status$|Status$|^redeemable$|\.status$/.test(name) ? paint.status(text) : text
