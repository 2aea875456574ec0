import process from 'node:process'

/** Makes a row of the result table. Times and sizes meet their target below it, rates above it. */
export function rowOf({ value, reference, target, unit, ...rest }) {
  const ratio = value / reference
  const held = target === undefined || (isAtMost(unit) ? ratio <= target : ratio >= target)
  return { ...rest, value, reference, ratio, target, unit, held }
}

/** A row whose target is a limit, not a ratio to something that was measured. */
export const budgetRow = (id, what, value, limit, unit) =>
  rowOf({ id, what, value, reference: limit, against: 'budget', target: 1, unit })

const isAtMost = (unit) => ['us', 'ms', 'kB', 'MB'].includes(unit)

export function printTable(rows) {
  const reasonOf = ({ skipped, failed }) => skipped ?? failed
  const lines = rows
    .filter((row) => reasonOf(row) === undefined)
    .map(({ id, what, value, reference, against, ratio, target, held, unit }) => [
      id,
      what,
      `${format(value)} ${unit}`,
      `${against} ${format(reference)}`,
      `${ratio.toFixed(2)}x`,
      target === undefined ? '' : `${isAtMost(unit) ? '<=' : '>='} ${target.toFixed(2)}x`,
      target === undefined ? '' : held ? 'held' : 'MISSED',
    ])
  const table = [['', 'what', 'value', 'reference', 'ratio', 'target', ''], ...lines]
  const widths = table[0].map((_, column) => Math.max(...table.map((line) => line[column].length)))
  for (const line of table) {
    const cells = line.map((cell, column) => cell.padEnd(widths[column]))
    process.stdout.write(`${cells.join('  ').trimEnd()}\n`)
  }
  for (const row of rows) {
    if (reasonOf(row) !== undefined) process.stdout.write(`${row.id} not measured: ${reasonOf(row)}\n`)
  }
}

export function format(value) {
  return value >= 1000 ? Math.round(value).toLocaleString('en-US') : value.toFixed(value < 10 ? 2 : 1)
}
