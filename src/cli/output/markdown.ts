import { narrow, totalOf, widthsOf } from './show.js'
import { GAP, widthOf, wrap, wrapWords } from './text.js'

/** Columns of a guide without a terminal, and of its paragraphs on a wide one, where longer lines are hard to read. */
const PLAIN_WIDTH = 80
const WIDEST_PARAGRAPH = 100

/** Matches a code block or a table. */
const BLOCKS = /^(```[^]*?^```|\|.*(?:\n\|.*)*)$/m

const LINK = /(!?)\[([^\]]+)\]\(([^)\s]+)\)/g

/**
 * Wraps the paragraphs and lists of a Markdown text, but not its code blocks. For a terminal it also formats tables and
 * replaces links (rules/cli.md#help-topics). @param width columns of the terminal @param topicOf true for a help topic
 */
export function wrapMarkdown(text: string, width?: number, topicOf = (_name: string) => false): string {
  const shown = (source: string) => (width === undefined ? source : withoutLinks(source, topicOf))
  const room = width === undefined ? PLAIN_WIDTH : Math.min(width, WIDEST_PARAGRAPH)
  const blocks = text.split(BLOCKS).map((block, i) => {
    const lines = () => block.split('\n').flatMap((line) => wrapLine(shown(line), room))
    if (i % 2 === 0) return lines().join('\n')
    return width === undefined || !block.startsWith('|') ? block : tableText(shown(block), width)
  })
  return blocks.join('')
}

function wrapLine(line: string, width: number): string[] {
  const [start = ''] = /^ *(?:- |\d+\. )?/.exec(line) ?? []
  const [first = '', ...words] = line.slice(start.length).split(' ')
  return wrapWords([start + first, ...words], width, ' '.repeat(start.length))
}

/** Replaces each link by its text, with the address of a web page, or the command that prints another guide. */
function withoutLinks(text: string, topicOf: (name: string) => boolean): string {
  return text.replace(LINK, (_link, image: string, label: string, target: string) => {
    if (image !== '') return `(Picture: ${label})`
    if (/^https?:/.test(target)) return `${label} (${target})`
    const name = /\b(rules(?=\/)|[\w-]+(?=\.md(?:#|$)))/i.exec(target)?.[1]?.toLowerCase()
    return name !== undefined && topicOf(name) ? `${label} [voucherctl help ${name}]` : label
  })
}

/** Formats a Markdown table with wrapped cells; as one paragraph for each cell if its words do not fit side by side. */
function tableText(source: string, width: number): string {
  const [heads = [], , ...rows] = source.split('\n').map(cellsOf)
  const all = [heads, ...rows]
  const words = all.map((row) => row.map((cell) => cell.split(' ').reduce((a, b) => (widthOf(a) < widthOf(b) ? b : a))))
  const widths = narrow(widthsOf(all), widthsOf(words), width)
  if (totalOf(widths) > width) {
    const cells = (row: string[]) => row.flatMap((cell, i) => wrap(i === 0 ? cell : `${heads[i]}: ${cell}`, width))
    return rows.map((row) => cells(row).join('\n')).join('\n\n')
  }
  const lines = [heads, widths.map((it) => '-'.repeat(it)), ...rows].flatMap((row) => {
    const cells = row.map((cell, i) => wrap(cell, widths[i] ?? width))
    const height = Math.max(...cells.map((it) => it.length))
    const lineOf = (at: number) => cells.map((it, i) => padded(it[at] ?? '', (widths[i] ?? 0) + GAP)).join('')
    return Array.from({ length: height }, (_, at) => lineOf(at).trimEnd())
  })
  return lines.join('\n')
}

const padded = (text: string, width: number) => text + ' '.repeat(Math.max(0, width - widthOf(text)))

/** Splits a table row at its bars; a bar after a backslash is part of a cell. */
const cellsOf = (row: string) =>
  row
    .replace(/^\|\s*|\s*\|\s*$/g, '')
    .split(/\s*(?<!\\)\|\s*/)
    .map((cell) => cell.replaceAll('\\|', '|'))
