import { didYouMean } from '../../values/closest.js'
import { durationMs } from '../../values/duration.js'
import { type Failure, usage } from '../failures/failure.js'

/** A parsed value, or a message that says what is wrong with the text, with a hint for a mistyped value. */
export type ParseResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly message: string; readonly hint?: string | undefined }

/** Definition of a flag, from which parser, help and the list of commands derive. */
export interface Flag<T> {
  /** Placeholder of the value in help; absent for a flag without a value. */
  readonly value?: string
  readonly letter?: string
  readonly summary: string
  readonly choices?: readonly string[]
  /** Value of the flag without a value, such as `on`. */
  readonly bare?: string
  readonly repeatable?: true
  /** Returns a notice about the typed value, such as the zone that a time without one gets. */
  remark?(name: string, text: string): string | undefined
  /** Question that asks for a missing value; its presence makes the flag required. */
  readonly ask?: string
  /** Name of another flag that can replace this required flag. */
  readonly unless?: string
  /** Names of flags that cannot be combined with this one. */
  readonly conflicts?: readonly string[]
  /** Names of flags, at least one of which this flag needs. */
  readonly needs?: readonly string[]
  /**
   * For a flag that the command itself requires: its mark in help, the flag that can also supply the value, and the
   * question that asks for it.
   */
  readonly needed?: { readonly mark: string; readonly unless: string; readonly question: string }
  /**
   * Member of the call that the flag sets, as a path such as `validity/starts_at`; by default the member with the name
   * of the flag. A list for a value that is an object of members, or from which the command makes members.
   */
  readonly member?: string | readonly string[]
  /** Kind of value on this machine; ids of records have the kind of their member. */
  readonly kind?: LocalKind
  /** Kind of record whose owner the flag names; the command looks up the owner if the flag is absent. */
  readonly ownerOf?: OwnedKind
  /** Parses the values of the flag as typed, in their order; the list is empty if the flag is absent. */
  read(texts: readonly string[]): ParseResult<T>
}

/** Kinds of records whose application or bot a command can find (rules/cli.md#owners). */
export type OwnedKind = 'tokens' | 'templates' | 'deliveries' | 'linkedBots'

/** Kinds of words from this machine: recorded deliveries, endpoint ids, paths of routes, names of profiles. */
export type LocalKind = 'recorded' | 'endpoints' | 'routes' | 'profiles'

export type Flags = Readonly<Record<string, Flag<unknown>>>
/** @typeParam I input of the call, which has the values of flags of its members */
export type ValuesOf<F extends Flags, I = unknown> = {
  readonly [Name in keyof F]: F[Name] extends Flag<infer T> ? ValueOf<T, I, Name> : never
}

/** Type of a flag that `member` defines; `Path` is its member, unless the name of the flag says so. */
export interface OfMember<Path extends string = string> {
  readonly path: Path
}

type ValueOf<T, I, Name> =
  T extends OfMember<infer Path> ? Defined<At<I, string extends Path ? MemberOf<I, Name> : Path>> : T
type Defined<T> = Exclude<T, undefined>
type At<I, Path> = Path extends keyof I
  ? I[Path]
  : Path extends `${infer First}/${infer Rest}`
    ? At<Defined<First extends keyof I ? I[First] : never>, Rest>
    : never
type Snake<Name> = Name extends `${infer First}-${infer Rest}` ? `${First}_${Snake<Rest>}` : Name
type MemberOf<I, Name> = Extract<keyof I, Snake<Name> | `${Snake<Name> & string}${'s' | '_id' | 'Id'}`>

/** Names of members that a flag may set without naming one: `--bot` sets `bot_id`, or the path parameter `botId`. */
export function namesOfMember(flag: string): readonly string[] {
  const snake = flag.replaceAll('-', '_')
  return [snake, `${snake}_id`, `${snake}Id`, `${snake}s`]
}

const done = <T>(value: T): ParseResult<T> => ({ ok: true, value })
const wrong = (message: string, hint?: string): ParseResult<never> => ({ ok: false, message, hint })

/** Refuses a value that is not one of the choices, and suggests the choice with a similar spelling. */
function wrongChoice(text: string, choices: readonly string[]): ParseResult<never> {
  return wrong(`must be one of ${choices.join(', ')}`, didYouMean(text, choices, undefined))
}

/**
 * Defines a flag of a member of the call: the schema of the member decides how values are read, their choices and
 * bounds. @param value placeholder; absent for choices, pairs and booleans
 */
export const member = (summary: string, value?: string): Flag<OfMember | undefined> => ({
  summary,
  ...(value === undefined ? {} : { value }),
  read: ofMember,
})

/** Stands in a flag of a member until `leaf` knows the endpoint. */
export const ofMember = (): never => {
  throw new Error('The command of the flag has no endpoint with its member.')
}

/** Names the kind of value that completion and prompts offer for a flag. */
export const ofKind = <T>(kind: LocalKind, flag: Flag<T>): Flag<T> => ({ ...flag, kind })

/** Names the member of the call that a flag sets. */
export function at<const Path extends string>(
  path: Path,
  flag: Flag<OfMember | undefined>,
): Flag<OfMember<Path> | undefined>
export function at<T>(path: string | readonly string[], flag: Flag<T>): Flag<T>
export function at(path: string | readonly string[], flag: Flag<unknown>): Flag<unknown> {
  return { ...flag, member: path }
}

/** Defines a flag with one value. */
export function one<T>(value: string, summary: string, parse: (text: string) => ParseResult<T>): Flag<T | undefined> {
  return { value, summary, read: ([text]) => (text === undefined ? done(undefined) : parse(text)) }
}

/** Defines a flag whose value must pass a test. @param rule what the test requires, for the message */
export const matching = (value: string, summary: string, test: (text: string) => boolean, rule: string) =>
  one(value, summary, (it) => (test(it) ? done(it) : wrong(rule)))

export const text = (value: string, summary: string) => matching(value, summary, (it) => it !== '', 'must not be empty')

/** Defines a flag whose value is the path of a file that cannot be a standard stream. */
export const path = (value: string, summary: string) =>
  one(value, summary, (text) =>
    text === '' ? wrong('must not be empty') : text === '-' ? wrong('must be a path, not -') : done(text),
  )

export const toggle = (summary: string): Flag<boolean> => ({ summary, read: (texts) => done(texts.length > 0) })

export function integer(value: string, summary: string, min: number, max: number) {
  return one(value, summary, (text) => {
    const number = /^-?\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    return number >= min && number <= max ? done(number) : wrong(`must be a whole number from ${min} to ${max}`)
  })
}

export function choice<const V extends string>(
  choices: readonly V[],
  summary: string,
  value = choices.join('|'),
): Flag<V | undefined> {
  const flag = one<V>(value, summary, (text) => {
    const found = choices.find((one) => one === text)
    return found === undefined ? wrongChoice(text, choices) : done(found)
  })
  return { ...flag, choices }
}

/** Defines a repeatable flag whose values must pass a test; its value is a list, which may be empty. */
export const listOf = <V extends string = string>(
  value: string,
  summary: string,
  test: (text: string) => boolean,
  rule: string,
): Flag<readonly V[]> => ({
  value,
  summary,
  repeatable: true,
  read: (texts) => (texts.every(test) ? done(texts as readonly V[]) : wrong(rule)),
})

export function list<V extends string = string>(
  value: string,
  summary: string,
  choices?: readonly V[],
): Flag<readonly V[]> {
  if (choices === undefined) return listOf(value, summary, (it) => it !== '', 'must not be empty')
  return {
    value,
    summary,
    choices,
    repeatable: true,
    read: (texts) => {
      const unknown = texts.find((text) => !choices.some((it) => it === text))
      return unknown === undefined ? done(texts as readonly V[]) : wrongChoice(unknown, choices)
    },
  }
}

/** Defines a repeatable flag of `key=value` pairs; undefined if the flag is absent. */
export function pairs(summary: string, value = 'KEY=VALUE'): Flag<Record<string, string> | undefined> {
  return {
    value,
    summary,
    repeatable: true,
    read: (texts) => {
      if (texts.length === 0) return done(undefined)
      const entries = texts.map((it) => [it.slice(0, it.indexOf('=')), it.slice(it.indexOf('=') + 1)] as const)
      if (texts.some((it) => it.indexOf('=') < 1)) return wrong(`must be ${value.toLowerCase()}`)
      if (new Set(entries.map(([key]) => key)).size < entries.length) return wrong('names a key twice')
      return done(Object.fromEntries(entries))
    },
  }
}

export const duration = (summary: string, minMs = 0) =>
  one('DURATION', summary, (text) => {
    const ms = durationMs(text)
    return ms === undefined || ms < minMs ? wrong('must be a duration such as 30s, 5m or 2h') : done(ms)
  })

/** Declares the flags that cannot be combined with a flag. */
export const excluding = <T>(flag: Flag<T>, ...conflicts: readonly string[]): Flag<T> => ({ ...flag, conflicts })

/** Declares flags, at least one of which another flag needs. */
export const needing = <T>(flag: Flag<T>, ...needs: readonly string[]): Flag<T> => ({ ...flag, needs })

/** Makes the value of a flag optional. @param bare the value of the flag without one */
export const withBare = <T>(bare: string, flag: Flag<T>): Flag<T> => ({ ...flag, bare })

/** Makes a flag required: the command asks for a missing value, or for at least one of a repeatable flag. */
export function required<T>(flag: Flag<T | undefined>, ask: string): Flag<T> {
  return { ...flag, ask } as Flag<T>
}

/** Makes a flag required unless a given other flag is present; the two cannot be combined. */
export function requiredUnless<T>(other: string, flag: Flag<T | undefined>, ask: string): Flag<T | undefined> {
  return { ...flag, ask, unless: other, conflicts: [other] }
}

/** Defines the flag that names the owner of the record in the argument. Prompts ask for it only with the argument. */
export function ownerFlag<T>(ownerOf: OwnedKind, flag: Flag<T | undefined>, ask: string): Flag<T> {
  return { ...flag, ask, ownerOf } as Flag<T>
}

export function withLetter<T>(letter: string, flag: Flag<T>): Flag<T> {
  return { ...flag, letter }
}

/** Converts values of flags back to arguments. */
export const toArguments = (values: Readonly<Record<string, unknown>>): string[] =>
  Object.entries(values).flatMap(([name, value]) => {
    if (value === undefined || value === false) return []
    return value === true ? [`--${name}`] : [value].flat().map((it) => `--${name}=${it}`)
  })

/** Values of each flag as typed, in their order; a flag without a value has an empty text. */
export type FlagTexts = ReadonlyMap<string, readonly string[]>

/** Parses the typed values of a command's flags, and checks the rules between flags. An invalid value counts as absent. */
export function readFlags(flags: Flags, given: FlagTexts) {
  const values: Record<string, unknown> = {}
  let failure: Failure | undefined
  for (const [name, flag] of Object.entries<Flag<unknown>>(flags)) {
    const texts = given.get(name) ?? []
    const home = /^(?:DIR|FILE|PATH)/.test(flag.value ?? '') && texts.find((it) => /^~[\w.-]*(?:[/\\]|$)/.test(it))
    const read: ParseResult<unknown> = home
      ? wrong(`is ${home}, whose ~ no shell replaced`, `Write --${name} ~/… without quotes or =, or ./~ for that name.`)
      : texts.length > 1 && flag.value !== undefined && !flag.repeatable
        ? wrong(`was given ${texts.length} times; it takes one value`)
        : flag.read(texts)
    const absent = flag.read([])
    values[name] = read.ok ? read.value : absent.ok ? absent.value : undefined
    if (!read.ok) failure ??= usage(`--${name} ${read.message}.`, read.hint)
  }
  return { values, failure: failure ?? refuseRules(flags, given) }
}

/** Lists the flags that conflict with a flag, whichever of the two declares the conflict. */
export const conflictsOf = (flags: Flags, name: string): readonly string[] => [
  ...(flags[name]?.conflicts ?? []),
  ...Object.keys(flags).filter((it) => flags[it]?.conflicts?.includes(name)),
]

/** Refuses flags that cannot be combined, and a flag without any that it needs (rules/cli.md#rules-between-flags). */
function refuseRules(flags: Flags, given: FlagTexts): Failure | undefined {
  for (const [name, { conflicts, needs }] of Object.entries<Flag<unknown>>(flags)) {
    if (!given.has(name)) continue
    const other = conflicts?.find((it) => given.has(it))
    if (other !== undefined) return usage(`--${name} and --${other} cannot be combined.`)
    if (needs !== undefined && !needs.some((it) => given.has(it))) return usage(`--${name} needs ${inWords(needs)}.`)
  }
  return undefined
}

/** Names flags as in `--url, --fault or --body-file`. */
export const inWords = (names: readonly string[]) => `--${names.join(', --').replace(/, ([^,]*)$/, ' or $1')}`
