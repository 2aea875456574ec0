import { tableOf } from '../../prove/report.js'
import type { Finding, ProveReport } from '../../prove/result.js'
import type { Paint } from '../output/colour.js'
import type { JunitSuite } from '../output/junit.js'
import { plain, plainLine, wrap } from '../output/text.js'

export type ProvedByCommand = Omit<ProveReport, 'findings'> & {
  readonly findings: readonly (Omit<Finding, 'only'> & { readonly repeat: string })[]
}

type ShownFinding = ProvedByCommand['findings'][number]

const TIMELINE_MAX = 30
const SHOWN_BY_MAX = 3
const GAP = 2
const INDENT = '  '

/** Formats the report for people: the gravest finding, the table, each finding, and what was not proved. */
export function linesOf(report: ProvedByCommand, width: number, paint: Paint): string[] {
  const { findings, remarks, not_proved: notProved } = report
  const [first] = findings
  return [
    ...(first === undefined
      ? wrap(
          `${isComplete(report) ? `${paint.done('✓')} Nothing found` : 'Nothing found so far'}: ${counts(report)}.`,
          width,
        )
      : [
          ...wrap(`${paint.error('✗')} ${paint.strong(first.finding)}: ${plainLine(first.sentence)}`, width),
          `${findings.length === 1 ? 'One finding' : `${findings.length} findings`}: ${counts(report)}.`,
        ]),
    '',
    ...tableLines(report, width, paint),
    ...findings.flatMap((it) => findingLines(it, findings, width, paint)),
    ...section('Remarks', remarks, width),
    ...section('Not proved', notProved, width),
  ]
}

function counts({ runs: { variants, held, no_effect: noEffect, not_run: notRun } }: ProvedByCommand): string {
  const parts = [
    variants === 1 && held === 1 ? 'the variant held' : `${held} of ${variants} variants held`,
    noEffect > 0 && `${noEffect} had no effect`,
    notRun > 0 && `${notRun} did not run`,
  ]
  return parts.filter((it) => it !== false).join(', ')
}

/** True if each disturbance of a call or delivery was tried; pairs are more than that. */
const isComplete = ({ results }: ProvedByCommand) => results.every((it) => it.result !== 'not run')

/** Calls down, disturbances across; columns that do not fit beside the others follow below. */
function tableLines(report: ProvedByCommand, width: number, paint: Paint): string[] {
  return tableOf(report).flatMap(({ headings, rows }) => {
    const label = Math.max(...rows.map((it) => it.subject.length))
    const columns = headings.map((heading, at) => ({
      heading,
      at,
      size: Math.max(heading.length, ...rows.map((it) => it.cells[at]?.length ?? 0)),
    }))
    const blocks: (typeof columns)[] = [[]]
    let used = label
    for (const column of columns) {
      if (used + GAP + column.size > width && (blocks.at(-1)?.length ?? 0) > 0) {
        blocks.push([])
        used = label
      }
      used += GAP + column.size
      blocks.at(-1)?.push(column)
    }
    return blocks.flatMap((block) => {
      const line = (
        subject: string,
        cellOf: (column: (typeof columns)[number]) => string,
        show: (text: string) => string,
      ) =>
        `${subject.padEnd(label)}${block.map((it) => ' '.repeat(GAP) + show(cellOf(it).padEnd(it.size))).join('')}`.trimEnd()
      return [
        line('', (it) => it.heading, paint.strong),
        ...rows.map(({ subject, cells }) =>
          line(
            subject,
            (it) => cells[it.at] ?? '',
            (text) => cellOf(text, paint),
          ),
        ),
        '',
      ]
    })
  })
}

const without = new Set(['no effect', 'not judged', 'not run'])

const cellOf = (text: string, paint: Paint) => {
  const word = text.trim()
  return word === 'held' ? paint.done(text) : word === '' || without.has(word) ? paint.quiet(text) : paint.error(text)
}

/** The last moments of a variant: a long import has thousands. */
function timelineLines(timeline: ShownFinding['timeline'], width: number): string[] {
  const left = Math.max(0, timeline.length - TIMELINE_MAX)
  const lines = timeline.slice(left).flatMap(({ at_ms, who, text }) => {
    const start = `${INDENT}${(at_ms / 1000).toFixed(3).padStart(7)} s  ${who.padEnd(8)}  `
    return wrap(plainLine(text), width - start.length).map(
      (it, at) => (at === 0 ? start : ' '.repeat(start.length)) + it,
    )
  })
  return left === 0 ? lines : [`${INDENT}… ${left} lines before these; --json has all`, ...lines]
}

function findingLines(it: ShownFinding, all: readonly ShownFinding[], width: number, paint: Paint): string[] {
  const { finding, weight, sentence, timeline, variants, repeat, cure } = it
  const same = all.slice(0, all.indexOf(it)).find((other) => other.repeat === repeat)
  const more = variants.length - SHOWN_BY_MAX
  return [
    `${paint.error('✗')} ${paint.strong(finding)} (${weight})`,
    // The first line of the report is the sentence of the first finding.
    ...(it === all[0] ? [] : indented(plainLine(sentence), width)),
    ...(same === undefined ? timelineLines(timeline, width) : indented(`Timeline: that of ${same.finding}.`, width)),
    ...indented(`Shown by: ${variants.slice(0, SHOWN_BY_MAX).join(', ')}${more > 0 ? ` and ${more} more` : ''}`, width),
    ...indented(`Usual fix: ${cure}`, width),
    `${INDENT}Repeat it: ${paint.hint(plain(repeat))}`,
    '',
  ]
}

const indented = (text: string, width: number) => wrap(text, width - INDENT.length).map((line) => INDENT + line)

const section = (heading: string, items: readonly string[], width: number) =>
  items.length === 0 ? [] : [`${heading}:`, ...items.flatMap((it) => indented(plainLine(it), width)), '']

/** One suite a call, one case a disturbance. */
export function suitesOf({ results, findings }: ProvedByCommand): JunitSuite[] {
  const subjectOf = (variant: string) => variant.split('/')[0] ?? variant
  return [...new Set(results.map((it) => subjectOf(it.variant)))].map((name) => {
    const cases = results
      .filter((it) => subjectOf(it.variant) === name)
      .map(({ variant, result, duration_ms }) => {
        const shown = findings.filter((it) => it.variants.includes(variant))
        const isSkipped = without.has(result)
        return {
          name: variant,
          status: shown.length > 0 ? ('failed' as const) : isSkipped ? ('skipped' as const) : ('passed' as const),
          duration_ms,
          problems: shown.flatMap((it) => [`${it.finding}: ${it.sentence}`, it.cure, it.repeat]),
          reason: isSkipped ? result : null,
        }
      })
    return { name, duration_ms: cases.reduce((sum, it) => sum + it.duration_ms, 0), cases }
  })
}
