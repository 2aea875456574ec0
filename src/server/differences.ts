import { closest } from '../contract/closest.js'
import { failures } from '../contract/errors.js'
import type { Place } from '../files/yaml-document.js'
import { YamlDocument } from '../files/yaml-document.js'
import type { Differences, RateLimitName } from './options.js'

interface Problem extends Place {
  readonly message: string
}

export type ReadDifferences =
  | { readonly ok: true; readonly differences: Differences }
  | { readonly ok: false; readonly problems: readonly Problem[] }

/** A setting of a rule: what its value must be, and whether it is. */
interface Setting {
  readonly form: string
  fits(value: unknown): boolean
}

const integer = (min: number, max: number): Setting => ({
  form: `an integer from ${min} to ${max}`,
  fits: (it) => Number.isInteger(it) && Number(it) >= min && Number(it) <= max,
})

const callsInWindow: Setting = {
  form: 'a text CALLS/SECONDS such as 5/60',
  fits: (it) => typeof it === 'string' && /^[1-9]\d{0,8}\/[1-9]\d{0,5}$/.test(it),
}

const message: Setting = {
  form: 'a text of 1 to 500 characters',
  fits: (it) => typeof it === 'string' && it.length >= 1 && it.length <= 500,
}

const limitNames: Readonly<Record<RateLimitName, Setting>> = {
  issue: callsInWindow,
  verify: callsInWindow,
  redeem: callsInWindow,
  reverse: callsInWindow,
  reads: callsInWindow,
  template_writes: callsInWindow,
  bot_issue: callsInWindow,
  bot_calls: callsInWindow,
  console: callsInWindow,
  secure_session: callsInWindow,
  credential_failures: callsInWindow,
  auth_failures: callsInWindow,
}

/** Settings by rule, the anchor of its section in DECISIONS.md (DECISIONS.md#differences). */
const rules: Readonly<Record<string, Readonly<Record<string, Setting>>>> = {
  'failure-codes': Object.fromEntries(Object.keys(failures).map((code) => [code, message])),
  'rate-limits': limitNames,
  'application-tokens': { default_days: integer(1, 365) },
  reversal: { window_days: integer(1, 3_650) },
}

/** What can be switched, for people. */
export const switchable = Object.entries(rules)
  .map(
    ([rule, settings]) =>
      `${rule} (${rule === 'failure-codes' ? 'a text for each code' : Object.keys(settings).join(', ')})`,
  )
  .join('; ')

const membersOf = (value: unknown) =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : undefined

/** Reads differences in YAML or JSON, or returns the mistakes with their places. */
export async function readDifferences(text: string): Promise<ReadDifferences> {
  const document = new YamlDocument(text, await import('yaml'))
  if (document.problems.length > 0) return { ok: false, problems: document.problems }
  const problems: Problem[] = []
  const refuse = (path: readonly string[], message: string) => problems.push({ ...document.placeOf(path), message })
  const values: Record<string, Record<string, unknown>> = {}
  const entries = membersOf(document.value)
  if (entries === undefined) refuse([], 'The file must be a map of rules.')
  for (const [rule, value] of entries ?? []) {
    const settings = Object.hasOwn(rules, rule) ? rules[rule] : undefined
    const named = membersOf(value)
    if (settings === undefined) {
      refuse([rule], `${rule} has no setting: ${near(rule, Object.keys(rules))}`)
      continue
    }
    if (named === undefined) refuse([rule], `${rule} must be a map of settings.`)
    for (const [name, given] of named ?? []) {
      const setting = Object.hasOwn(settings, name) ? settings[name] : undefined
      if (setting === undefined)
        refuse([rule, name], `${rule} has no setting ${name}: ${near(name, Object.keys(settings))}`)
      else if (!setting.fits(given)) refuse([rule, name], `${rule}.${name} must be ${setting.form}.`)
      else values[rule] = { ...values[rule], [name]: given }
    }
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, differences: differencesOf(values) }
}

function near(name: string, names: readonly string[]): string {
  const word = closest(name, names)
  return word === undefined ? 'it cannot be switched.' : `did you mean ${word}?`
}

type Values = Readonly<Record<string, Readonly<Record<string, unknown>>>>

function differencesOf(values: Values): Differences {
  const { 'failure-codes': messages, 'rate-limits': limits, reversal } = values
  const rateLimits = Object.entries(limits ?? {}).map(([name, it]) => {
    const [calls, seconds] = String(it).split('/').map(Number)
    return [name, { calls, seconds }]
  })
  const numbers = {
    tokenLifetimeDays: values['application-tokens']?.default_days,
    reversalWindowDays: reversal?.window_days,
  }
  const given = Object.entries(numbers).filter(([, it]) => it !== undefined)
  return {
    ...Object.fromEntries(given),
    ...(messages === undefined ? {} : { messages }),
    ...(limits === undefined ? {} : { rateLimits: Object.fromEntries(rateLimits) }),
    names: Object.entries(values).flatMap(([rule, it]) => Object.keys(it).map((name) => `${rule}.${name}`)),
  }
}
