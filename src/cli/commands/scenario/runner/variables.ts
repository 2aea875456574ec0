/** `${name}`; `$${` is an escaped `${`. */
const REFERENCE = /\$\$\{|\$\{\s*([^}]*?)\s*\}/g
const WHOLE = /^\$\{\s*([^}]+?)\s*\}$/

type Variables = ReadonlyMap<string, unknown>

/** A variable without a value, because the step that sets it failed or did not run. */
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
 * Replaces references in the texts of a value. A text that consists of one reference becomes the value of the variable,
 * which may be a number or a record.
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

/** Replaces references in a text; the result is a text. */
export const filledText = (text: string, variables: Variables, write = asText) =>
  replaceReferences(text, (name) => write(valueOf(name, variables)))

/** Replaces references in a jq expression by JSON, so that no value can become code. */
export const filledExpression = (expression: string, variables: Variables) =>
  filledText(expression, variables, JSON.stringify)

/** Replaces every reference by the same text. */
export const filledWith = (text: string, value: string) => replaceReferences(text, () => value)

const replaceReferences = (text: string, replace: (name: string) => string) =>
  text.replace(REFERENCE, (found, name: string | undefined) => (name === undefined ? found.slice(1) : replace(name)))

function valueOf(name: string, variables: Variables): unknown {
  if (!variables.has(name)) throw new UnknownVariable(`\${${name}} has no value`)
  return variables.get(name)
}

const asText = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
