import type { Expected } from './document.js'
import { describe, differences, shown } from './match.js'

/** The results of a jq expression on a value; or why there are none. */
export type Jq = (
  expression: string,
  data: unknown,
) => Promise<
  { readonly ok: true; readonly values: readonly unknown[] } | { readonly ok: false; readonly message: string }
>

/** What a step got: an answer, a refusal, or a delivery, which has no status. */
export type StepOutcome =
  | { readonly ok: true; readonly status: number | null; readonly replayed: boolean; readonly data: unknown }
  | {
      readonly ok: false
      readonly status: number
      readonly code: string
      readonly message: string
      readonly details: Readonly<Record<string, unknown>>
    }

/** What is not as expected, a line each. */
export async function failedAssertions(expect: Expected, outcome: StepOutcome, jq: Jq): Promise<string[]> {
  const isOther =
    (expect.status !== undefined && expect.status !== outcome.status) ||
    (expect.code !== undefined && (outcome.ok || expect.code !== outcome.code)) ||
    (expect.status === undefined && expect.code === undefined && !outcome.ok)
  if (isOther) return [`expected ${wanted(expect)}, got ${outcomeOf(outcome)}`]
  const problems: string[] = []
  if (expect.replayed !== undefined)
    problems.push(...compare(expect.replayed, outcome.ok && outcome.replayed, 'replayed'))
  if ('data' in expect) problems.push(...compare(expect.data, outcome.ok ? outcome.data : undefined, 'data'))
  if ('details' in expect)
    problems.push(...compare(expect.details, outcome.ok ? undefined : outcome.details, 'details'))
  for (const expression of expect.that) {
    const result = await jq(expression, outcome.ok ? outcome.data : outcome.details)
    if (!result.ok) problems.push(`that ${expression}: ${result.message}`)
    else if (result.values.length === 0 || result.values.some((it) => it !== true))
      problems.push(`that ${expression}: ${shown(result.values.length === 1 ? result.values[0] : result.values)}`)
  }
  return problems
}

const compare = (expected: unknown, actual: unknown, path: string) => differences(expected, actual, path).map(describe)

function wanted({ status, code }: Expected): string {
  return [status, code].filter((it) => it !== undefined).join(' ') || 'success'
}

/** `409 VOUCHER_NOT_REDEEMABLE: …`, or the status of a success. */
export function outcomeOf(outcome: StepOutcome): string {
  if (outcome.ok) return outcome.status === null ? 'a delivery' : String(outcome.status)
  return `${outcome.status === 0 ? '' : `${outcome.status} `}${outcome.code}: ${outcome.message}`
}
