import process from 'node:process'
import { isAtMost } from './row.js'

export function printTable(rows) {
  const measured = rows.filter(({ skipped, failed }) => (skipped ?? failed) === undefined)
  const lines = measured.map(({ id, what, value, reference, against, ratio, target, held, unit }) => [
    id,
    what,
    `${format(value)} ${unit}`,
    `${against} ${format(reference)}`,
    `${ratio.toFixed(2)}x`,
    `${isAtMost(unit) ? '<=' : '>='} ${target.toFixed(2)}x`,
    held ? 'held' : 'MISSED',
  ])
  const table = [['', 'what', 'value', 'reference', 'ratio', 'target', ''], ...lines]
  const widths = table[0].map((_, column) => Math.max(...table.map((line) => line[column].length)))
  for (const line of table) {
    process.stdout.write(
      `${line
        .map((cell, column) => cell.padEnd(widths[column]))
        .join('  ')
        .trimEnd()}\n`,
    )
  }
  for (const { id, skipped, failed } of rows) {
    if ((skipped ?? failed) !== undefined) process.stdout.write(`${id} not measured: ${skipped ?? failed}\n`)
  }
  for (const { id, memory } of measured) {
    if (memory === undefined) continue
    const { peak_mb: peak, quarter_mb: quarter, target_mb: target } = memory
    process.stdout.write(`${id} memory: ${format(peak)} MB at most, ${format(quarter)} after a quarter (< ${target})\n`)
  }
  for (const { id, beside } of measured) {
    if (beside === undefined) continue
    process.stdout.write(`${id} beside ${beside.what} (${format(beside.reference)}/s): ${beside.ratio.toFixed(2)}x\n`)
  }
}

function format(value) {
  return value >= 1000 ? Math.round(value).toLocaleString('en-US') : value.toFixed(1)
}
