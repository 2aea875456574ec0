import { closest } from '../../contract/closest.js'
import { asMembers, type Members } from '../../secure/json.js'

export interface Problem {
  readonly line: number
  readonly column: number
  readonly message: string
}

export type Path = readonly (string | number)[]

/** Maximum number of YAML aliases: with nested aliases a small file expands to gigabytes. */
const ALIASES_MAX = 100

/** Type of the YAML library, which is loaded on demand and passed as an argument. */
export type Yaml = typeof import('yaml')

/**
 * Reads the values of a parsed YAML file and collects all errors with their line numbers. Its methods return undefined
 * for a value that is absent or invalid.
 */
export class Source {
  readonly value: unknown
  readonly problems: Problem[] = []
  readonly #lines: InstanceType<Yaml['LineCounter']>
  readonly #document: ReturnType<Yaml['parseDocument']>
  readonly #isNode: Yaml['isNode']

  constructor(text: string, { isNode, LineCounter, parseDocument }: Yaml) {
    this.#isNode = isNode
    this.#lines = new LineCounter()
    this.#document = parseDocument(text, { lineCounter: this.#lines, prettyErrors: false, logLevel: 'silent' })
    for (const { pos, message } of this.#document.errors) this.#add(pos[0], firstSentence(message))
    if (this.problems.length > 0) return
    try {
      this.value = this.#document.toJS({ maxAliasCount: ALIASES_MAX })
    } catch (error) {
      this.#add(0, `The aliases cannot be followed: ${error instanceof Error ? error.message : ''}`)
    }
  }

  wrong(path: Path, message: string): undefined {
    this.#add(this.#startOf(path), message)
    return undefined
  }

  lineOf(path: Path): number {
    return this.#lines.linePos(this.#startOf(path)).line
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

  /** Reads a list that has items. @param items their name in the plural, for the message */
  list(path: Path, value: unknown, items: string): readonly unknown[] | undefined {
    if (value === undefined || (Array.isArray(value) && value.length > 0)) return value
    return this.wrong(path, `${nameOf(path)} must be a list of ${items}.`)
  }

  text(path: Path, value: unknown): string | undefined {
    if (value === undefined || (typeof value === 'string' && value !== '')) return value
    return this.wrong(path, `${nameOf(path)} must be a text.`)
  }

  flag(path: Path, value: unknown): boolean | undefined {
    if (value === undefined || typeof value === 'boolean') return value
    return this.wrong(path, `${nameOf(path)} must be true or false.`)
  }

  /** Offset in the file where a member's name starts, or its value if it has no name (list items). */
  #startOf(path: Path): number {
    for (let length = path.length; length > 0; length -= 1) {
      const parent = this.#document.getIn(path.slice(0, length - 1), true)
      const name = path[length - 1]
      if (this.#isNode(parent) && 'items' in parent) {
        for (const item of parent.items) {
          if (this.#isNode(item)) continue
          const { key } = item as { key: unknown }
          if (this.#isNode(key) && 'value' in key && key.value === name) return key.range?.[0] ?? 0
        }
      }
      const node = this.#document.getIn(path.slice(0, length), true)
      if (this.#isNode(node)) return node.range?.[0] ?? 0
    }
    return 0
  }

  #add(offset: number, message: string): void {
    const { line, col } = this.#lines.linePos(offset)
    this.problems.push({ line: Math.max(line, 1), column: Math.max(col, 1), message })
  }
}

function nameOf(path: Path): string {
  const last = path.at(-1) ?? 'The file'
  return typeof last === 'number' ? (path.at(-2) === 'templates' ? 'A template' : 'A step') : last
}

const firstSentence = (message: string) => `${(message.split('\n')[0] ?? '').replace(/[.:]?$/, '')}.`
