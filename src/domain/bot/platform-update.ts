import { escapePointer, type ValidationIssue } from '../../contract/envelope.js'
import { machineId, text } from '../../contract/fields.js'
import type { platformUpdateTypes } from '../../contract/platform/platform.js'
import type { Schema } from '../../contract/schema.js'
import { unixSeconds } from './chat.js'

/** An update that the operator creates (rules/bots.md#update-types). */
interface PlatformUpdate {
  readonly type: (typeof platformUpdateTypes)[number]
  readonly payload?: Readonly<Record<string, unknown>>
}

interface MemberRule {
  readonly required?: true
  readonly expected: string
  fits(value: unknown): boolean
}

/** Converts a text schema of the contract to a rule, so that the schema and the rule reject the same values. */
function textRule(schema: Schema): MemberRule {
  const { pattern, maxLength = Number.POSITIVE_INFINITY, 'x-expected': expected } = schema as Schema & TextSchema
  const form = new RegExp(pattern, 'u')
  return {
    expected,
    fits: (value) => typeof value === 'string' && form.test(value) && [...value].length <= maxLength,
  }
}

interface TextSchema {
  readonly pattern: string
  readonly maxLength?: number
  readonly 'x-expected': string
}

const LATEST_SECOND = Math.floor(Date.UTC(9999, 11, 31, 23, 59, 59) / 1000)
const isDate = (value: unknown) =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= LATEST_SECOND

const id = textRule(machineId(128))
const from: MemberRule = {
  required: true,
  expected: '{ "id": "…" }, an id of 1 to 128 visible ASCII characters',
  fits: (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
    const { id: userId, is_bot: isBot = false, ...others } = value as Record<string, unknown>
    return id.fits(userId) && isBot === false && Object.keys(others).length === 0
  },
}
const date: MemberRule = { expected: 'a time in whole Unix seconds', fits: isDate }
const query: MemberRule = { ...textRule(text(0, 256)), required: true }

const rules: Record<PlatformUpdate['type'], Readonly<Record<string, MemberRule>>> = {
  friend_request: { id, from, date },
  inline_query: { id, from, query },
  ping: {},
}

/** Validates the payload of an update that the operator creates; rejects unknown members, so that no bot gets them. */
export function platformUpdateIssues({ type, payload = {} }: PlatformUpdate): ValidationIssue[] {
  const members = rules[type]
  const issues: ValidationIssue[] = []
  for (const [name, rule] of Object.entries(members)) {
    const pointer = `/payload/${name}`
    if (!Object.hasOwn(payload, name)) {
      if (rule.required) issues.push({ pointer, code: 'required', message: 'is required' })
    } else if (!rule.fits(payload[name])) issues.push({ pointer, code: 'format', message: `must be ${rule.expected}` })
  }
  for (const name of Object.keys(payload)) {
    if (Object.hasOwn(members, name)) continue
    issues.push({
      pointer: `/payload/${escapePointer(name)}`,
      code: 'additionalProperties',
      message: 'is not known here',
    })
  }
  return issues
}

/** The payload that the bot receives: members in a fixed order, with defaults for `id` and `date`. */
export function platformPayload({ type, payload = {} }: PlatformUpdate, newId: () => string, now: number): object {
  if (type === 'ping') return {}
  const userId = (payload.from as { id: string }).id
  const sender = { id: payload.id ?? newId(), from: { id: userId, is_bot: false } }
  return type === 'friend_request'
    ? { ...sender, date: payload.date ?? unixSeconds(now) }
    : { ...sender, query: payload.query }
}
