/** Stands for TypeBox in the bundle of the command line: of a schema it keeps the names of the members. */
export const Object = (properties, options) => ({ ...options, properties })
export const Unsafe = (schema) => schema
export const Optional = (schema) => schema
const nothing = () => ({})
export {
  nothing as Array,
  nothing as Boolean,
  nothing as Integer,
  nothing as Literal,
  nothing as Null,
  nothing as Number,
  nothing as Record,
  nothing as String,
  nothing as Union,
}
