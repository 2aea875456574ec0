/** A member that a sentence needs is not there. */
class Absent extends Error {}

/** Members that the language itself asks for. */
const asked = ['toJSON', 'then']

/**
 * A sentence about an answer. Answers are typed, not validated: where a server leaves out a member that the sentence
 * needs, or sends something of another type, the sentence is left out too. What was done is done, and is shown.
 */
export function sentence<Data>(make: ((data: Data) => string | undefined) | undefined, data: Data): string | undefined {
  try {
    return typeof data !== 'object' || data === null ? undefined : make?.(complete(data))
  } catch (error) {
    if (error instanceof Absent || error instanceof TypeError) return undefined
    throw error
  }
}

/** The same value, which refuses to say `undefined`. */
function complete<T>(value: T): T {
  if (value === undefined) throw new Absent()
  if (typeof value !== 'object' || value === null) return value
  return new Proxy(value, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof name === 'symbol' || asked.includes(name) || typeof member === 'function') return member
      return complete(member)
    },
  })
}
