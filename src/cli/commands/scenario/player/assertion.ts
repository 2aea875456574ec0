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
export type Seen =
  | { readonly ok: true; readonly status: number | null; readonly replayed: boolean; readonly data: unknown }
  | {
      readonly ok: false
      readonly status: number
      readonly code: string
      readonly message: string
      readonly details: Readonly<Record<string, unknown>>
    }

/** What is not as expected, a line each. */
export async function judge(expect: Expected, seen: Seen, jq: Jq): Promise<string[]> {
  const isOther =
    (expect.status !== undefined && expect.status !== seen.status) ||
    (expect.code !== undefined && (seen.ok || expect.code !== seen.code)) ||
    (expect.status === undefined && expect.code === undefined && !seen.ok)
  if (isOther) return [`expected ${wanted(expect)}, got ${outcomeOf(seen)}`]
  const problems: string[] = []
  if (expect.replayed !== undefined) problems.push(...compare(expect.replayed, seen.ok && seen.replayed, 'replayed'))
  if ('data' in expect) problems.push(...compare(expect.data, seen.ok ? seen.data : undefined, 'data'))
  if ('details' in expect) problems.push(...compare(expect.details, seen.ok ? undefined : seen.details, 'details'))
  for (const expression of expect.that) {
    const result = await jq(expression, seen.ok ? seen.data : seen.details)
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
export function outcomeOf(seen: Seen): string {
  if (seen.ok) return seen.status === null ? 'a delivery' : String(seen.status)
  return `${seen.status === 0 ? '' : `${seen.status} `}${seen.code}: ${seen.message}`
}
