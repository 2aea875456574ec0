declare const value: unique symbol

/** A JSON Schema; `T` is the type of the values that it allows. */
export interface Schema<T = unknown> {
  /** Carries the type T for the compiler; never set at run time. */
  readonly [value]?: T
}

export interface ObjectSchema<P extends Properties = Properties> extends Schema<ValueOf<P>> {
  readonly type: 'object'
  readonly properties: P
  readonly required?: string[]
}

/** Schema of an optional member. */
export interface OptionalSchema<T = unknown> extends Schema<T> {
  readonly [optional]: true
}

export type Properties = Readonly<Record<string, Schema>>

/** The type of the values that a schema allows. */
export type Static<S extends Schema> = S extends Schema<infer T> ? T : never

type OptionalNames<P extends Properties> = { [K in keyof P]: P[K] extends OptionalSchema ? K : never }[keyof P]
type Simplify<T> = { [K in keyof T]: T[K] }
type ValueOf<P extends Properties> = Simplify<
  { [K in Exclude<keyof P, OptionalNames<P>>]: Static<P[K]> } & { [K in OptionalNames<P>]?: Static<P[K]> }
>

/** Keywords of JSON Schema, and an example. */
type Keywords<T = unknown> = Readonly<Record<string, unknown>> & { readonly example?: T | undefined }

/** Marks optional members. A symbol, because JSON.stringify omits symbols. */
const optional = Symbol('optional')
/** Has the example of a schema. A symbol, so that neither validators nor JSON have the keyword. */
const example = Symbol('example')

/** Marks instants, whose format the OpenAPI document gives in words. A symbol, like `example`. */
const instant = Symbol('instant')

/** Adds an example to a schema; undefined adds none. */
export const withExample = <S extends object>(schema: S, value: unknown): S =>
  value === undefined ? schema : { ...schema, [example]: value }

const build = (type: string, { example: value, ...keywords }: Keywords = {}): Schema<never> =>
  withExample({ type, ...keywords }, value) as Schema<never>

/** Builders of JSON Schemas as plain data, so that the CLI loads no schema library. */
export const Type = {
  Array: <S extends Schema>(items: S, keywords?: Keywords<Static<S>[]>): Schema<Static<S>[]> =>
    build('array', { items, ...keywords }),
  Boolean: (keywords?: Keywords<boolean>): Schema<boolean> => build('boolean', keywords),
  /** A text in the format of an instant. */
  Instant: (keywords?: Keywords<string>): Schema<string> =>
    Object.assign(build('string', keywords), { [instant]: true }),
  Integer: (keywords?: Keywords<number>): Schema<number> => build('integer', keywords),
  Literal: <const V extends string>(value: V): Schema<V> => build('string', { const: value }),
  Number: (keywords?: Keywords<number>): Schema<number> => build('number', keywords),
  Object: <P extends Properties>(properties: P, { example: value, ...keywords }: Keywords = {}): ObjectSchema<P> => {
    const required = Object.keys(properties).filter((name) => !(optional in (properties[name] as Schema)))
    const schema = { type: 'object', ...(required.length > 0 ? { required } : {}), properties, ...keywords } as const
    return withExample(schema, value)
  },
  /** Examples of objects have the member if it has its own example. */
  Optional: <S extends Schema>(schema: S, value?: Static<S>): S & OptionalSchema =>
    withExample({ ...schema, [optional]: true }, value),
  String: (keywords?: Keywords<string>): Schema<string> => build('string', keywords),
  Union: <S extends readonly Schema[]>(anyOf: S, value?: Static<S[number]>): Schema<Static<S[number]>> =>
    withExample({ anyOf }, value) as Schema<never>,
  /** A schema of arbitrary keywords; the caller states the type. */
  Unsafe: <T>(schema: object): Schema<T> => schema as Schema<T>,
}

/** A schema with the types of its keywords, for code that reads schemas. */
export interface ReadSchema extends Schema {
  readonly [example]?: unknown
  readonly type?: string | readonly string[]
  readonly const?: string
  readonly enum?: readonly (string | null)[]
  readonly anyOf?: readonly ReadSchema[]
  readonly items?: ReadSchema
  readonly properties?: Readonly<Record<string, ReadSchema>>
  readonly required?: readonly string[]
  /** Schema of the values of a map. */
  readonly additionalProperties?: ReadSchema
  readonly format?: string
  readonly description?: string
  readonly 'x-expected'?: string
  readonly minimum?: number
  readonly exclusiveMinimum?: number
  readonly maximum?: number
}

/** True for a text in the format of an instant, which may be null. */
export const isInstant = (schema: ReadSchema): boolean => schema.format === 'date-time' || instant in schema

/** Returns an example of a schema: its own, or one made from its parts. @throws Error if a text has none */
export function exampleOf<S extends Schema>(schema: S): Static<S> {
  const made = partExample(schema as ReadSchema)
  if (made === undefined) throw new Error(`No example of ${JSON.stringify(schema)}`)
  return made as Static<S>
}

/** The example of a part of a schema; undefined without one. */
function partExample(schema: ReadSchema): unknown {
  const { [example]: own, type, const: only, enum: values, anyOf, items, properties } = schema
  if (own !== undefined) return own
  if (only !== undefined) return only
  if (anyOf !== undefined) return partExample(anyOf[0] as ReadSchema)
  if (properties !== undefined) return objectExample(properties, schema.required)
  if (typeof type === 'object') return null
  if (values !== undefined) return values[0]
  if (items !== undefined) return [partExample(items)].filter((it) => it !== undefined)
  return { object: {}, boolean: false, integer: 0, number: 0 }[type as string]
}

function objectExample(properties: Readonly<Record<string, ReadSchema>>, required: readonly string[] = []): unknown {
  const shown = Object.entries(properties).filter(([name, it]) => required.includes(name) || example in it)
  const members = shown.map(([name, it]) => [name, partExample(it)] as const)
  return members.some(([, it]) => it === undefined) ? undefined : Object.fromEntries(members)
}
