/** Thrown when a sentence reads a member that the response lacks. */
class MissingMember extends Error {}

/** Members that JSON.stringify and await read from any object. */
const languageMembers = ['toJSON', 'then']

/**
 * Builds a sentence about a response; undefined if the response lacks a member that the sentence needs, or has one of
 * another type. Responses are not validated, and a missing member must not hide that the command succeeded.
 */
export function sentence<Data>(make: ((data: Data) => string | undefined) | undefined, data: Data): string | undefined {
  try {
    return typeof data !== 'object' || data === null ? undefined : make?.(complete(data))
  } catch (error) {
    if (error instanceof MissingMember || error instanceof TypeError) return undefined
    throw error
  }
}

/** Wraps a value so that reading a missing member throws. */
function complete<T>(value: T): T {
  if (value === undefined) throw new MissingMember()
  if (typeof value !== 'object' || value === null) return value
  return new Proxy(value, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof name === 'symbol' || languageMembers.includes(name) || typeof member === 'function') return member
      return complete(member)
    },
  })
}
