import { textOrJson } from '../output/text.js'

/** Matches a variable reference `${name}`, and `$${`, which stands for the text `${`. */
const REFERENCE = /\$\$\{|\$\{\s*([^}]*?)\s*\}/g
const WHOLE = /^\$\{\s*([^}]+?)\s*\}$/

type Variables = Pick<ReadonlyMap<string, unknown>, 'get' | 'has'>

/** Thrown for a variable without a value: its step failed or did not run, or the environment lacks it. */
export class UnknownVariable extends Error {
  override readonly name = 'UnknownVariable'
}

/** Lists the variables that the texts in a value refer to. */
export function referencesIn(value: unknown): string[] {
  if (typeof value === 'string')
    return [...value.matchAll(REFERENCE)].flatMap(([, name]) => (name === undefined ? [] : [name]))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, it]) => [...referencesIn(name), ...referencesIn(it)])
}

/**
 * Replaces variable references in all texts of a value. A text that is exactly one reference becomes the variable's
 * value with its type, such as a number or an object.
 * @throws UnknownVariable for a variable without a value
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

/** Replaces references to these variables alone; others stay. */
export const filledFrom = (value: unknown, literals: ReadonlyMap<string, unknown>) =>
  filled(value, { has: () => true, get: (name) => (literals.has(name) ? literals.get(name) : `\${${name}}`) })

/** Replaces variable references in a text; the result is always a text. */
export const filledText = (text: string, variables: Variables, write = textOrJson) =>
  replaceReferences(text, (name) => write(valueOf(name, variables)))

/** Replaces variable references in a jq expression by JSON literals, so that no value is run as jq code. */
export const filledExpression = (expression: string, variables: Variables) =>
  filledText(expression, variables, JSON.stringify)

/** Replaces every variable reference in a text by one fixed text. */
export const filledWith = (text: string, value: string) => replaceReferences(text, () => value)

const replaceReferences = (text: string, replace: (name: string) => string) =>
  text.replace(REFERENCE, (found, name: string | undefined) => (name === undefined ? found.slice(1) : replace(name)))

function valueOf(name: string, variables: Variables): unknown {
  if (!variables.has(name)) {
    const reason = name.startsWith('env.')
      ? `set ${name.slice(4)} in the environment; for a tool also name it: \`voucherctl mcp serve --env NAME\``
      : 'the step that captures it has not passed'
    throw new UnknownVariable(`\${${name}} has no value: ${reason}`)
  }
  return variables.get(name)
}
