import { type Schema, Type } from '../../contract/schema.js'

// Schemas that several tools use.

export const open = Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true })
export const text = (description: string) => Type.String({ minLength: 1, maxLength: 1_000, description })
export const optional = (description: string) => Type.Optional(text(description))
export const items = <S extends Schema>(item: S) => Type.Object({ items: Type.Array(item) })

/** An object that may be null; `nullable` is for schemas with a type of one word. */
export const orNull = <S extends Schema>(schema: S) => Type.Union([schema, Type.Unsafe<null>({ type: 'null' })])
