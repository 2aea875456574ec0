/** Stands for TypeBox in the bundle of the command line: of a schema it keeps the names of the members. */
export const Object = (properties, options) => ({ ...options, properties })
export const Unsafe = (schema) => schema
export const Optional = (schema) => schema
const list = (items) => ({ items })
const union = (anyOf) => ({ anyOf })
const value = () => ({ type: 'value' })
export {
  list as Array,
  value as Boolean,
  value as Integer,
  value as Literal,
  value as Null,
  value as Number,
  value as String,
  union as Union,
}
/** Any members. */
export const Record = () => ({})
