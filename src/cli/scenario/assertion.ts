import { asMembers, type Members } from '../../values/json.js'
import type { StepExpectation } from './document.js'

/** Function that evaluates a jq expression on a JSON value. */
export type Jq = (
  expression: string,
  data: unknown,
) => Promise<
  { readonly ok: true; readonly values: readonly unknown[] } | { readonly ok: false; readonly message: string }
>

/** Outcome of a step: a successful response, a refusal, or a webhook delivery, which has no status. */
export type StepOutcome =
  | { readonly ok: true; readonly status: number | null; readonly replayed: boolean; readonly data: unknown }
  | {
      readonly ok: false
      readonly status: number
      readonly code: string
      readonly message: string
      readonly details: Readonly<Record<string, unknown>>
    }

/** Describes each failed assertion of a step on one line; empty if all passed. */
export async function failedAssertions(expect: StepExpectation, outcome: StepOutcome, jq: Jq): Promise<string[]> {
  if (!isExpected(expect, outcome))
    return [`expected ${wanted(expect)}, got ${outcomeOf(outcome)}`, ...refusedMembers(outcome)]
  const problems: string[] = []
  if (expect.replayed !== undefined)
    problems.push(...differences(expect.replayed, outcome.ok && outcome.replayed, 'replayed'))
  if ('data' in expect) problems.push(...differences(expect.data, outcome.ok ? outcome.data : undefined, 'data'))
  if ('details' in expect)
    problems.push(...differences(expect.details, outcome.ok ? undefined : outcome.details, 'details'))
  for (const expression of expect.that) {
    const problem = problemOf(await jq(expression, outcome.ok ? outcome.data : outcome.details))
    if (problem !== undefined) problems.push(`that ${expression}: ${problem}`)
  }
  return problems
}

/** Describes a result of jq that is not `true`. */
function problemOf(result: Awaited<ReturnType<Jq>>): string | undefined {
  if (!result.ok) return result.message
  const { values } = result
  if (values.length > 0 && values.every((value) => value === true)) return undefined
  return shown(values.length === 1 ? values[0] : values)
}

function isExpected({ status, code }: StepExpectation, outcome: StepOutcome): boolean {
  if (status === undefined && code === undefined) return outcome.ok
  if (status !== undefined && status !== outcome.status) return false
  return code === undefined || (!outcome.ok && code === outcome.code)
}

/** Describes on one line each member of the input that the server refused. */
function refusedMembers(outcome: StepOutcome): string[] {
  const { errors, reason }: Members = outcome.ok ? {} : outcome.details
  if (reason === 'not_loopback') return ['with.url: this temporary server delivers only to ${webhook.url} and loopback']
  if (!Array.isArray(errors)) return []
  return errors.flatMap((error) => {
    const { pointer, message, suggestion } = asMembers(error) ?? {}
    if (typeof pointer !== 'string' || typeof message !== 'string') return []
    const member = `with.${pointer.replace(/^\//, '').replaceAll('/', '.')}`
    return [`${member}: ${message}${typeof suggestion === 'string' ? ` (${suggestion})` : ''}`]
  })
}

function wanted({ status, code }: StepExpectation): string {
  return [status, code].filter((it) => it !== undefined).join(' ') || 'success'
}

/** Formats an outcome, such as `409 VOUCHER_NOT_REDEEMABLE: …`, or the status of a success. */
export function outcomeOf(outcome: StepOutcome): string {
  if (outcome.ok) return outcome.status === null ? 'a delivery' : String(outcome.status)
  return `${outcome.status === 0 ? '' : `${outcome.status} `}${outcome.code}: ${outcome.message}`
}

/** Describes each difference on one line. Actual objects may have additional members, actual lists no other items. */
export function differences(expected: unknown, actual: unknown, path: string): string[] {
  const here = [`${path}: expected ${shown(expected)}, got ${actual === undefined ? 'nothing' : shown(actual)}`]
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) return here
    return expected.flatMap((it, i) => differences(it, actual[i], `${path}[${i}]`))
  }
  const wanted = asMembers(expected)
  if (wanted === undefined) return Object.is(expected, actual) ? [] : here
  const members = asMembers(actual)
  if (members === undefined) return here
  return Object.entries(wanted).flatMap(([name, it]) =>
    differences(it, Object.hasOwn(members, name) ? members[name] : undefined, `${path}.${name}`),
  )
}

const TEXT_LENGTH_MAX = 200

export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > TEXT_LENGTH_MAX ? `${text.slice(0, TEXT_LENGTH_MAX)}…` : text
}
