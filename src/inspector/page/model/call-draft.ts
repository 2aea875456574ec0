import type { ReferenceEndpoint, ReferenceMember } from '../../../contract/platform/reference.js'

// What a user types into the form of a call.

export interface Field {
  readonly label: string
  /** Initial value; a function gives a new one after each success. */
  readonly value?: string | (() => string)
  readonly optional?: true
  readonly placeholder?: string
  /** Choices in place of text. */
  readonly options?: readonly (readonly [value: string, label: string])[]
  /** Several lines: Enter sends, and Shift with Enter begins a line. */
  readonly lines?: true
  readonly isNumber?: true
}

type Endpoint = Pick<ReferenceEndpoint, 'members'>

const isText = ({ type, values }: ReferenceMember) => values !== undefined || /^string( \| null)?$/.test(type)
const isNumber = ({ type }: ReferenceMember) => /^(integer|number)/.test(type)

/** Members with their own field; members within others are part of their JSON. */
const ownMembers = ({ members }: Endpoint) =>
  members.filter(({ name }, at) => !/[.[]/.test(name) && members.findIndex((it) => it.name === name) === at)

/** A field for each member, with the example of the contract. */
export const memberFields = (endpoint: Endpoint): Readonly<Record<string, Field>> =>
  Object.fromEntries(ownMembers(endpoint).map((it) => [it.name, fieldOf(it)]))

function fieldOf(member: ReferenceMember): Field {
  const { name, type, required, example = '' } = member
  const choices = member.values ?? (type.startsWith('boolean') ? ['true', 'false'] : undefined)
  const options = choices && (required ? choices : ['', ...choices]).map((it) => [it, it || 'not sent'] as const)
  return {
    label: required ? `${name} required` : name,
    value: typeof example === 'string' ? example || (options?.[0]?.[0] ?? '') : JSON.stringify(example, null, 2),
    ...(required ? {} : { optional: true }),
    ...(options ? { options } : isNumber(member) ? { isNumber: true } : isText(member) ? {} : { lines: true }),
  }
}

/** Reads the input of a call; an empty field sends no member. A text says which field is wrong. */
export function readInput(
  endpoint: Endpoint,
  textOf: (name: string) => string,
): Readonly<Record<string, unknown>> | string {
  const input: Record<string, unknown> = {}
  for (const it of ownMembers(endpoint)) {
    const text = textOf(it.name)
    if (text === '' && it.in === 'path') return `${it.name} is part of the path: fill it in.`
    const isNull = text === 'null' && it.type.endsWith('null')
    try {
      if (text !== '') input[it.name] = isText(it) && !isNull ? text : JSON.parse(text)
    } catch {
      return `${it.name} must be JSON, such as 12 or {"name": "value"}.`
    }
  }
  return input
}
