/** A member of a response as text; null if it is missing or no text. */
export const textOrNull = (value: unknown) => (typeof value === 'string' ? value : null)
