import { UNITS_MS } from '../../values/duration.js'
import type { Flag, ParseResult } from '../flags/flags.js'
import { isOperation, type Operation, operations } from './mix.js'
import type { OperationReport } from './operation-report.js'

const latencies = ['p50', 'p90', 'p95', 'p99', 'p999', 'mean', 'max'] as const
const metrics = [...latencies, 'errors', 'rate'] as const
type Metric = (typeof metrics)[number]

const comparisons = {
  '<=': (one: number, other: number) => one <= other,
  '>=': (one: number, other: number) => one >= other,
  '<': (one: number, other: number) => one < other,
  '>': (one: number, other: number) => one > other,
} as const
type Comparison = keyof typeof comparisons

/** A condition on the result of a run, such as `verify.p99<20ms`. */
export interface Assertion {
  readonly text: string
  /** Absent for a condition on all calls together. */
  readonly operation?: Operation
  readonly metric: Metric
  readonly comparison: Comparison
  readonly limit: number
  readonly unit: 'ms' | '%' | 'calls' | '/s'
}

export type AssertionResult = ReturnType<typeof judge>

/** Defines a flag of assertions; its value holds the assertions of all occurrences. */
export const assertFlag = (summary: string): Flag<readonly Assertion[]> => ({
  value: 'CONDITION,…',
  summary,
  repeatable: true,
  read: (texts) => {
    const found: Assertion[] = []
    for (const text of texts) {
      const parsed = parseAssertions(text)
      if (!parsed.ok) return parsed
      found.push(...parsed.value)
    }
    return { ok: true, value: found }
  },
})

/** Parses conditions such as `p99<50ms,errors<0.1%`; a refusal names the position of the wrong part. */
export function parseAssertions(text: string): ParseResult<readonly Assertion[]> {
  const found: Assertion[] = []
  let position = 1
  for (const part of text.split(',')) {
    const [, subject = '', comparison = '', limit = ''] = /^([^<>=]*)([<>=]*)(.*)$/s.exec(part) ?? []
    const [name = '', operation] = subject.split('.').reverse()
    const at = position + subject.length - name.length
    if (operation !== undefined && (!isOperation(operation) || subject.split('.').length > 2)) {
      return wrong(text, position, subject, `needs an operation before the dot: ${operations.join(', ')}`)
    }
    const metric = metrics.find((it) => it === name)
    if (metric === undefined) return wrong(text, at, name, `needs one of ${metrics.join(', ')}`)
    const afterSubject = position + subject.length
    if (!isComparison(comparison)) return wrong(text, afterSubject, comparison, 'needs <, <=, > or >=')
    const value = limitOf(metric, limit)
    if (typeof value === 'string') return wrong(text, afterSubject + comparison.length, limit, value)
    found.push({ text: part, ...(operation === undefined ? {} : { operation }), metric, comparison, ...value })
    position += part.length + 1
  }
  return { ok: true, value: found }
}

const isComparison = (text: string): text is Comparison => Object.hasOwn(comparisons, text)

const isLatency = (metric: Metric) => latencies.some((it) => it === metric)

/** Parses a limit in the unit of its metric, or returns the mistake. */
function limitOf(metric: Metric, text: string): Pick<Assertion, 'limit' | 'unit'> | string {
  if (isLatency(metric)) {
    // The unit is required, because other flags read a plain number as seconds; a limit may have fractions of a ms.
    const [, count, unit] = /^(\d{1,9}(?:\.\d{1,6})?)(ms|s|m|h)$/.exec(text) ?? []
    if (unit === undefined) return 'needs a duration with its unit, such as 50ms'
    return { limit: Number(count) * UNITS_MS[unit as 'ms' | 's' | 'm' | 'h'], unit: 'ms' }
  }
  const [, number, sign] = /^(\d{1,9}(?:\.\d{1,6})?)(%|\/s)?$/.exec(text) ?? []
  if (metric === 'errors' && number !== undefined && sign !== '/s') {
    return { limit: Number(number), unit: sign === '%' ? '%' : 'calls' }
  }
  if (metric === 'rate' && number !== undefined && sign !== '%') return { limit: Number(number), unit: '/s' }
  return metric === 'errors'
    ? 'needs a number of calls or a percentage, such as 0.1%'
    : 'needs calls a second, such as 190/s'
}

const wrong = (text: string, position: number, found: string, rule: string) =>
  ({ ok: false, message: `"${text}" is wrong at character ${position}, "${found}": it ${rule}` }) as const

/** Compares an assertion with the measurements of one operation, or of all calls: null without a successful call. */
export function judge(
  { text, operation, metric, comparison, limit, unit }: Assertion,
  { items, all }: { readonly items: readonly OperationReport[]; readonly all: OperationReport },
) {
  const calls = operation === undefined ? all : items.find((it) => it.operation === operation)
  const observed = calls === undefined ? null : observedIn(calls, metric, unit)
  return { assertion: text, holds: observed !== null && comparisons[comparison](observed, limit), observed, unit }
}

function observedIn(calls: OperationReport, metric: Metric, unit: Assertion['unit']): number | null {
  if (metric === 'rate') return calls.per_second
  if (metric !== 'errors') return calls[`${metric}_ms`]
  if (unit === 'calls') return calls.failed
  return calls.calls === 0 ? null : (calls.failed / calls.calls) * 100
}
