import { failures } from '../contract/errors.js'
import { parseRateLimit, rateLimitForm, rateLimitNames } from '../contract/rate-limits.js'
import { closest } from '../contract/values/closest.js'
import { type Problem, YamlDocument } from '../files/yaml-document.js'
import type { Differences } from './options.js'

type ReadDifferences =
  | { readonly ok: true; readonly differences: Differences }
  | { readonly ok: false; readonly problems: readonly Problem[] }

/** A setting of a rule: a description of valid values, their JSON Schema, and a test. */
interface Setting {
  readonly form: string
  readonly schema: object
  /** Member of Differences with the value of this setting. */
  readonly member?: keyof Differences
  fits(value: unknown): boolean
}

type Settings = Readonly<Record<string, Setting>>

const integerTo = (max: number, member: keyof Differences): Setting => ({
  form: `an integer from 1 to ${max}`,
  schema: { type: 'integer', minimum: 1, maximum: max },
  member,
  fits: (it) => Number.isInteger(it) && Number(it) >= 1 && Number(it) <= max,
})

const callsInWindow: Setting = {
  form: 'a text CALLS/SECONDS such as 5/60',
  schema: { type: 'string', pattern: rateLimitForm.source },
  fits: (it) => typeof it === 'string' && parseRateLimit(it) !== undefined,
}

const MESSAGE_LENGTH = 500
const message: Setting = {
  form: `a text of 1 to ${MESSAGE_LENGTH} characters`,
  schema: { type: 'string', minLength: 1, maxLength: MESSAGE_LENGTH },
  fits: (it) => typeof it === 'string' && it.length >= 1 && it.length <= MESSAGE_LENGTH,
}

/** Highest limit of records: the server counts existing records before it adds one, which takes time. */
const RECORDS_MAX = 10_000

/** Settings by rule, under the rule's anchor in RULES.md (RULES.md#differences). */
const rules: Readonly<Record<string, Settings>> = {
  'failure-codes': Object.fromEntries(Object.keys(failures).map((code) => [code, message])),
  'rate-limits': Object.fromEntries(rateLimitNames.map((name) => [name, callsInWindow])),
  'idempotency-keys': { days: integerTo(3_650, 'idempotencyDays') },
  applications: { max: integerTo(RECORDS_MAX, 'applicationsMax') },
  'application-tokens': {
    default_days: integerTo(365, 'tokenLifetimeDays'),
    max: integerTo(RECORDS_MAX, 'tokensMax'),
  },
  reversal: { window_days: integerTo(3_650, 'reversalWindowDays') },
  'bot-records': { max: integerTo(RECORDS_MAX, 'botsMax') },
}

/** Lists the available settings for people. */
export const switchable = Object.entries(rules)
  .map(
    ([rule, settings]) =>
      `${rule} (${rule === 'failure-codes' ? 'a text for each code' : Object.keys(settings).join(', ')})`,
  )
  .join('; ')

const mapOf = <T>(members: Readonly<Record<string, T>>, schemaOf: (member: T) => object) => ({
  type: 'object',
  properties: Object.fromEntries(Object.entries(members).map(([name, it]) => [name, schemaOf(it)])),
  additionalProperties: false,
})

/** JSON Schema of a file of differences, for editors. */
export const differencesSchema = mapOf(rules, (settings) =>
  mapOf(settings, ({ form, schema }) => ({ description: form, ...schema })),
)

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
    if (settings === undefined) refuse([rule], `${rule} has no setting: ${near(rule, Object.keys(rules))}`)
    else if (named === undefined) refuse([rule], `${rule} must be a map of settings.`)
    else {
      for (const [name, given] of named) {
        const problem = problemOf(rule, settings, name, given)
        if (problem === undefined) values[rule] = { ...values[rule], [name]: given }
        else refuse([rule, name], problem)
      }
    }
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, differences: differencesOf(values) }
}

function problemOf(rule: string, settings: Settings, name: string, given: unknown): string | undefined {
  const setting = Object.hasOwn(settings, name) ? settings[name] : undefined
  if (setting === undefined) return `${rule} has no setting ${name}: ${near(name, Object.keys(settings))}`
  return setting.fits(given) ? undefined : `${rule}.${name} must be ${setting.form}.`
}

function near(name: string, names: readonly string[]): string {
  const word = closest(name, names)
  return word === undefined ? 'it cannot be switched.' : `did you mean ${word}?`
}

type Values = Readonly<Record<string, Readonly<Record<string, unknown>>>>

function differencesOf(values: Values): Differences {
  const { 'failure-codes': messages, 'rate-limits': limits } = values
  const rateLimits = Object.entries(limits ?? {}).map(([name, it]) => [name, parseRateLimit(String(it))])
  const given = Object.entries(values).flatMap(([rule, settings]) =>
    Object.entries(settings).map(([name, value]) => ({ rule, name, value })),
  )
  const numbers = given.flatMap(({ rule, name, value }) => {
    const member = rules[rule]?.[name]?.member
    return member === undefined ? [] : [[member, value]]
  })
  return {
    ...Object.fromEntries(numbers),
    ...(messages === undefined ? {} : { messages }),
    ...(limits === undefined ? {} : { rateLimits: Object.fromEntries(rateLimits) }),
    names: given.map(({ rule, name }) => `${rule}.${name}`),
  }
}
