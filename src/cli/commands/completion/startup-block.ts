const FIRST = '# >>> voucherctl completion >>>'
const LAST = '# <<< voucherctl completion <<<'

/** Inserts lines between two markers in a startup file, or replaces those there; undefined if a marker is missing. */
export function withBlock(content: string, lines: readonly string[]): string | undefined {
  const block = [FIRST, ...lines, LAST, ''].join('\n')
  const found = findBlocks(content)
  if (found === undefined) return undefined
  const [first] = found
  if (first === undefined) return `${content}${content === '' || content.endsWith('\n') ? '' : '\n'}${block}`
  const before = content.slice(0, first.start)
  return `${before}${block}${without(content.slice(first.end), findBlocks(content.slice(first.end)) ?? [])}`
}

/** Removes all lines between the markers, and the markers; undefined if a marker is missing. */
export function withoutBlock(content: string): string | undefined {
  const found = findBlocks(content)
  return found === undefined ? undefined : without(content, found)
}

interface MarkedBlock {
  readonly start: number
  readonly end: number
}

function without(content: string, blocks: readonly MarkedBlock[]): string {
  return [...blocks].reverse().reduce((text, { start, end }) => text.slice(0, start) + text.slice(end), content)
}

/** Finds the text between each pair of markers, with its last line end; undefined if a marker is missing. */
function findBlocks(content: string): readonly MarkedBlock[] | undefined {
  const marks = [...content.matchAll(/^# (?:>>> voucherctl completion >>>|<<< voucherctl completion <<<)\r?(?:\n|$)/gm)]
  const blocks: MarkedBlock[] = []
  for (let i = 0; i < marks.length; i += 2) {
    const [first, last] = [marks[i], marks[i + 1]]
    if (first?.[0].startsWith(FIRST) !== true || last?.[0].startsWith(LAST) !== true) return undefined
    blocks.push({ start: first.index, end: last.index + last[0].length })
  }
  return blocks
}
