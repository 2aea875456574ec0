import { type Path, type Problem, typeHint, type Yaml, YamlDocument } from '../../files/yaml-document.js'
import { closest } from '../../values/closest.js'
import { asMembers, type Members } from '../../values/json.js'

export type { Problem }

/**
 * Reads the values of a parsed YAML file and collects all errors with their line numbers. Its methods return undefined
 * for a value that is absent or invalid.
 */
export class Source {
  readonly value: unknown
  readonly problems: Problem[]
  readonly #document: YamlDocument

  constructor(text: string, yaml: Yaml) {
    this.#document = new YamlDocument(text, yaml)
    this.value = this.#document.value
    this.problems = [...this.#document.problems]
  }

  wrong(path: Path, message: string): undefined {
    this.problems.push({ ...this.#document.placeOf(path), message })
    return undefined
  }

  /** Refuses numbers and booleans below a member whose digits or spelling change when they become texts. */
  exact(path: Path): void {
    const message = `A value of ${nameOf(path)} would change when it becomes a text, as 0123 becomes 123: put it in quotes, or write it as in JSON.`
    for (const place of this.#document.changedAsText(path)) this.problems.push({ ...place, message })
  }

  lineOf(path: Path): number {
    return this.#document.placeOf(path).line
  }

  /** Reads a YAML mapping; a member whose name is not in `known` is an error. */
  record(path: Path, value: unknown, known?: readonly string[]): Members | undefined {
    if (value === undefined) return undefined
    const members = asMembers(value)
    if (members === undefined) {
      const names = known === undefined ? '' : ` of ${known.join(', ')}`
      return this.wrong(path, `${nameOf(path)} must be a record${names}.`)
    }
    for (const name of Object.keys(members)) {
      if (known === undefined || known.includes(name)) continue
      const meant = closest(name, known)
      const hint = meant === undefined ? `it takes ${known.join(', ')}` : `did you mean "${meant}"?`
      this.wrong([...path, name], `${nameOf(path)} has no member "${name}": ${hint}`)
    }
    return members
  }

  /** Reads a list with at least one item. @param items plural noun for the message */
  list(path: Path, value: unknown, items: string): readonly unknown[] | undefined {
    if (value === undefined || (Array.isArray(value) && value.length > 0)) return value
    return this.wrong(path, `${nameOf(path)} must be a list of ${items}.`)
  }

  text(path: Path, value: unknown): string | undefined {
    if (value === undefined || (typeof value === 'string' && value !== '')) return value
    return this.wrong(path, `${nameOf(path)} must be a text${typeHint(value, [])}.`)
  }

  flag(path: Path, value: unknown): boolean | undefined {
    if (value === undefined || typeof value === 'boolean') return value
    return this.wrong(path, `${nameOf(path)} must be true or false.`)
  }
}

function nameOf(path: Path): string {
  const last = path.at(-1) ?? 'The file'
  return typeof last === 'number' ? (path.at(-2) === 'templates' ? 'A template' : 'A step') : last
}
