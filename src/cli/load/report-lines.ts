import type { Paint } from '../output/colour.js'
import { numberText, plainLine } from '../output/text.js'
import type { AssertionResult } from './assertions.js'
import type { GeneratorReport, LoadReport } from './report.js'

export function headlineOf({ all, duration_ms, interrupted }: LoadReport): string {
  const seconds = (duration_ms / 1000).toFixed(1)
  const end = interrupted ? ', then the run was interrupted' : ''
  return `${numberText(all.succeeded)} of ${numberText(all.calls)} ${all.calls === 1 ? 'call' : 'calls'} succeeded in ${seconds} s${end}.`
}

const NAME_WIDTH = 10
const CALLS_WIDTH = 10
const NUMBER_WIDTH = 8

/** Formats the report for people: a line for each operation, failures by code, the generator, and assertions. */
export function linesOf(report: LoadReport, paint: Paint): string[] {
  const { items, all, assertions } = report
  const operationsOfTable = items.length > 1 ? [...items, all] : items
  return [
    paint.quiet(cells(['in ms', 'calls', 'failed', 'ok/s', 'p50', 'p90', 'p99', 'p99.9', 'max'])),
    ...operationsOfTable.map((report) =>
      cells([
        report.operation,
        numberText(report.calls),
        numberText(report.failed),
        numberText(report.per_second),
        ...[report.p50_ms, report.p90_ms, report.p99_ms, report.p999_ms, report.max_ms].map(inMs),
      ]),
    ),
    ...section('Failed', failureLines(report)),
    '',
    paint.quiet(generatorLine(report.generator)),
    ...section(
      'Assertions',
      assertions.map(({ assertion, holds, observed, unit }) => {
        const mark = holds ? paint.done('✓') : paint.error('✗')
        return `${mark} ${assertion.padEnd(24)} ${observed === null ? 'no successful call' : observedText(observed, unit)}`
      }),
    ),
  ]
}

const cells = ([name = '', calls = '', ...numbers]: readonly string[]) =>
  [name.padEnd(NAME_WIDTH), calls.padStart(CALLS_WIDTH), ...numbers.map((it) => it.padStart(NUMBER_WIDTH))].join('')

const section = (heading: string, lines: readonly string[]) =>
  lines.length === 0 ? [] : ['', heading, ...lines.map((it) => `  ${it}`)]

function failureLines({ items }: LoadReport): string[] {
  return items.flatMap(({ operation, errors }) =>
    Object.entries(errors).map(
      ([code, count]) =>
        `${numberText(count).padStart(NUMBER_WIDTH)}  ${operation.padEnd(NAME_WIDTH)}${plainLine(code)}`,
    ),
  )
}

const inMs = (ms: number | null) =>
  ms === null ? '-' : ms < 10 ? ms.toFixed(2) : ms < 100 ? ms.toFixed(1) : numberText(Math.round(ms))

function observedText(observed: number, unit: AssertionResult['unit']): string {
  if (unit === 'ms') return `${inMs(observed)} ms`
  if (unit === '%') return `${Number(observed.toFixed(3))} %`
  return unit === 'calls' ? `${numberText(observed)} failed` : `${numberText(observed)}/s`
}

function generatorLine(report: GeneratorReport): string {
  const late = `calls started ${inMs(report.late_p50_ms)} ms late (p99 ${inMs(report.late_p99_ms)} ms)`
  const waiting = report.waiting_max === 0 ? '' : `, up to ${numberText(report.waiting_max)} waited for a connection`
  return `This machine: CPU ${report.cpu_percent} % of a core, ${late}${waiting}.`
}
