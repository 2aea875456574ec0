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

type Keywords = Readonly<Record<string, unknown>>

/** Marks optional members. A symbol, because JSON.stringify omits symbols. */
const optional = Symbol('optional')

const build = (type: string, keywords?: Keywords): Schema<never> => ({ type, ...keywords }) as Schema<never>

/** Builders of JSON Schemas as plain data, so that the CLI loads no schema library. */
export const Type = {
  Array: <S extends Schema>(items: S, keywords?: Keywords): Schema<Static<S>[]> =>
    build('array', { items, ...keywords }),
  Boolean: (keywords?: Keywords): Schema<boolean> => build('boolean', keywords),
  Integer: (keywords?: Keywords): Schema<number> => build('integer', keywords),
  Literal: <const V extends string>(value: V): Schema<V> => build('string', { const: value }),
  Number: (keywords?: Keywords): Schema<number> => build('number', keywords),
  Object: <P extends Properties>(properties: P, keywords?: Keywords): ObjectSchema<P> => {
    const required = Object.keys(properties).filter((name) => !(optional in (properties[name] as Schema)))
    return { type: 'object', ...(required.length > 0 ? { required } : {}), properties, ...keywords }
  },
  Optional: <S extends Schema>(schema: S): S & OptionalSchema => ({ ...schema, [optional]: true }),
  String: (keywords?: Keywords): Schema<string> => build('string', keywords),
  Union: <S extends readonly Schema[]>(anyOf: S): Schema<Static<S[number]>> => ({ anyOf }) as Schema<never>,
  /** A schema of arbitrary keywords; the caller states the type. */
  Unsafe: <T>(schema: object): Schema<T> => schema as Schema<T>,
}
