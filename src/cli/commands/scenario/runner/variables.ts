/** `${name}`, and `$${` for the two characters themselves. */
const REFERENCE = /\$\$\{|\$\{\s*([^}]*?)\s*\}/g
const WHOLE = /^\$\{\s*([^}]+?)\s*\}$/

type Variables = ReadonlyMap<string, unknown>

/** A variable that no step has set: the step that would have set it failed or was not run. */
export class UnknownVariable extends Error {
  override readonly name = 'UnknownVariable'
}

/** Names of the variables in the texts of a value. */
export function referencesIn(value: unknown): string[] {
  if (typeof value === 'string')
    return [...value.matchAll(REFERENCE)].flatMap(([, name]) => (name === undefined ? [] : [name]))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, it]) => [...referencesIn(name), ...referencesIn(it)])
}

/**
 * Puts variables into the texts of a value. A text that is one reference and nothing else becomes the value itself, a
 * number or a record too.
 * @throws UnknownVariable
 */
export function filled(value: unknown, variables: Variables): unknown {
  if (typeof value === 'string') {
    const whole = WHOLE.exec(value)?.[1]
    return whole === undefined ? filledText(value, variables) : valueOf(whole, variables)
  }
  if (Array.isArray(value)) return value.map((it) => filled(it, variables))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, it]) => [filledText(name, variables), filled(it, variables)]),
  )
}

/** The same for one text, which stays one. */
export const filledText = (text: string, variables: Variables, write = asText) =>
  replaceReferences(text, (name) => write(valueOf(name, variables)))

/** A jq expression: each variable stands there as the JSON of its value, so that no value can become code. */
export const filledExpression = (expression: string, variables: Variables) =>
  filledText(expression, variables, JSON.stringify)

/** A text with the same in the place of each variable. */
export const filledWith = (text: string, value: string) => replaceReferences(text, () => value)

const replaceReferences = (text: string, replace: (name: string) => string) =>
  text.replace(REFERENCE, (found, name: string | undefined) => (name === undefined ? found.slice(1) : replace(name)))

function valueOf(name: string, variables: Variables): unknown {
  if (!variables.has(name)) throw new UnknownVariable(`\${${name}} has no value`)
  return variables.get(name)
}

const asText = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
