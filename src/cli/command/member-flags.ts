import { type Endpoint, type InputOf, membersOf, pathParameters } from '../../contract/endpoint.js'
import { kindOfMember, recordKinds } from '../../contract/record-kinds.js'
import type { ReadSchema } from '../../contract/schema.js'
import type { Members } from '../../values/json.js'
import {
  choice,
  type Flag,
  type Flags,
  integer,
  list,
  matching,
  namesOfMember,
  ofMember,
  pairs,
  text,
  toggle,
} from '../flags/flags.js'

/** Gives each flag of a member what the schema of the member says, and names the member that each flag sets. */
export function bindFlags(endpoint: Endpoint, flags: Flags): Flags {
  const members = schemasOf(endpoint)
  return Object.fromEntries(
    Object.entries(flags).map(([name, flag]) => {
      const member = flag.member ?? namesOfMember(name).find((it) => Object.hasOwn(members, it))
      if (flag.read !== ofMember) return [name, member === undefined ? flag : { ...flag, member }]
      const path = String(member).split('/')
      const schema = path.reduce<ReadSchema>((it, part) => it.properties?.[part] ?? ofMember(), { properties: members })
      const derived = flagOf(schema, flag, endpoint.method === 'PATCH', isRequired(endpoint, path))
      return [name, { ...derived, ...flag, read: derived.read, member }]
    }),
  )
}

interface Argument {
  readonly name: string
  readonly member?: string
}

/** Names the member that a positional argument supplies: `APP_ID` the path parameter `appId`. */
export function bindArgument<A extends Argument>(endpoint: Endpoint, argument: A): A {
  const snake = argument.name.toLowerCase()
  const names = [snake, snake.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())]
  const member = argument.member ?? names.find((it) => Object.hasOwn(schemasOf(endpoint), it))
  return member === undefined ? argument : { ...argument, member }
}

/** Makes the argument for the record that the path names and no flag supplies: `APP_ID` for `:appId`. */
export function argumentOf({ path }: Endpoint, flags: Flags) {
  const supplied = Object.values(flags).map((it) => it.member)
  const member = pathParameters(path).find((it) => !supplied.includes(it)) ?? ''
  const kind = kindOfMember(member)
  if (kind === undefined) return undefined
  const { prefix, noun } = recordKinds[kind]
  const word = noun.replace(/^an? /, '')
  const ask = `${word.charAt(0).toUpperCase()}${word.slice(1)} id`
  const name = member.replace(/[A-Z]/, '_$&').toUpperCase()
  return { name, summary: `Id of the ${word}, ${prefix}_…`, ask, member }
}

const schemasOf = ({ params, query, body }: Endpoint) =>
  ({ ...membersOf(params), ...membersOf(query), ...membersOf(body) }) as Readonly<Record<string, ReadSchema>>

const isRequired = ({ body }: Endpoint, [first = '', ...rest]: readonly string[]) =>
  rest.length === 0 && (body as { required?: readonly string[] } | undefined)?.required?.includes(first) === true

/** @param changes true for a call that leaves absent members as they are, so that a boolean needs both values */
function flagOf(
  schema: ReadSchema,
  { summary, value = '' }: Flag<unknown>,
  changes: boolean,
  required: boolean,
): Flag<unknown> {
  const { enum: values, items, minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = schema
  const placeholder = value === '' ? undefined : value
  if (values !== undefined)
    return choice(
      values.filter((it) => it !== null),
      summary,
      placeholder,
    )
  switch ([schema.type].flat()[0]) {
    case 'boolean':
      if (changes) return mapped(choice(['on', 'off'], summary), (it) => it === 'on')
      return mapped(toggle(summary), (it) => it || undefined)
    case 'integer':
      return integer(value, summary, minimum, maximum)
    case 'number':
      return mapped(
        matching(value, summary, (it) => isWithin(it, schema), `must be ${schema['x-expected']}`),
        Number,
      )
    case 'object':
      return pairs(summary, placeholder)
    case 'array': {
      const names = Object.keys(items?.properties ?? {})
      if (names.length > 0) return recordList(names as [string, string], summary)
      const choices = items?.enum?.filter((it) => it !== null)
      return mapped(list(value, summary, choices), (it) => (it.length === 0 && !required ? undefined : [...it]))
    }
    default:
      return text(value, summary)
  }
}

const NUMBER = /^\d*\.?\d+$/
const isWithin = (typed: string, { exclusiveMinimum = 0, maximum = Number.MAX_VALUE }: ReadSchema) =>
  NUMBER.test(typed) && Number(typed) > exclusiveMinimum && Number(typed) <= maximum

/** Applies a function to the value of a flag, unless the value is absent. */
function mapped<T>(flag: Flag<T>, change: (value: Exclude<T, undefined>) => unknown): Flag<unknown> {
  const read: Flag<unknown>['read'] = (texts) => {
    const result = flag.read(texts)
    return result.ok && result.value !== undefined
      ? { ok: true, value: change(result.value as Exclude<T, undefined>) }
      : result
  }
  return { ...flag, read }
}

/** A repeatable flag of pairs for a list of records with two members, such as `TITLE=URL`. */
const recordList = ([first, second]: readonly [string, string], summary: string) =>
  mapped(pairs(summary, `${first}=${second}`.toUpperCase()), (it) =>
    Object.entries(it).map(([key, text]) => ({ [first]: key, [second]: text })),
  )

interface Given {
  readonly flags: Readonly<Record<string, unknown>>
  readonly positional: string | undefined
}

export function inputOf<E extends Endpoint>(flags: Flags, argument: Argument | undefined, given: Given): InputOf<E> {
  const input: Record<string, unknown> = {}
  if (argument?.member !== undefined && given.positional !== undefined) input[argument.member] = given.positional
  for (const [name, { member }] of Object.entries(flags)) {
    const value = given.flags[name]
    if (member === undefined || value === undefined) continue
    if (typeof member === 'string') setAt(input, member.split('/'), value)
    else if (typeof value === 'object') Object.assign(input, value)
  }
  return input as InputOf<E>
}

function setAt(input: Record<string, unknown>, [first = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) input[first] = value
  else {
    input[first] ??= {}
    setAt(input[first] as Record<string, unknown>, rest, value)
  }
}

/** Returns the texts that a flag reads as the value of its member: none for an absent value. */
export function textsOf({ value: placeholder }: Flag<unknown>, value: unknown): string[] {
  if (value === undefined || value === null) return []
  if (typeof value === 'boolean' && placeholder === undefined) return value ? [''] : []
  if (typeof value === 'boolean') return [value ? 'on' : 'off']
  const pair = (it: readonly unknown[]) => it.join('=')
  if (Array.isArray(value)) return value.map((it) => (typeof it === 'object' ? pair(Object.values(it)) : String(it)))
  return typeof value === 'object' ? Object.entries(value).map(pair) : [String(value)]
}

/** The record that an irreversible call affects: the last one that its path names. */
export const subjectOf = ({ path }: Pick<Endpoint, 'path'>, input: unknown): string =>
  String((input as Members)[pathParameters(path).at(-1) ?? ''])

/** True for an input with path parameters alone. */
export const changesNothing = ({ path }: Endpoint, input: unknown) =>
  Object.keys(input as object).every((it) => pathParameters(path).includes(it))
