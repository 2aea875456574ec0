import type { Document, Node, Pair } from 'yaml'

/** Type of the YAML library, which is loaded on demand and passed as an argument. */
export type Yaml = typeof import('yaml')

/** Names of members and indexes of items that lead to a value. */
export type Path = readonly (string | number)[]

/** Line and column of a name or value in a file, counted from 1. */
export interface Place {
  readonly line: number
  readonly column: number
}

/** A mistake in a file of a user. */
export interface Problem extends Place {
  readonly message: string
}

/** Maximum number of YAML aliases: with nested aliases a small file expands to gigabytes. */
const ALIASES_MAX = 100

/** Returns a hint for a number or boolean in place of a text, otherwise ''. @param root value of the file */
export function typeHint(root: unknown, path: Path): string {
  const value = path.reduce<unknown>((it, name) => (it as Readonly<Record<string, unknown>> | null)?.[name], root)
  if (typeof value !== 'number' && typeof value !== 'boolean') return ''
  return ` (this is a ${typeof value}: a text that looks like one needs quotes)`
}

/** A document without content, such as comments after the last `---`. Empty quotes have a range and are content. */
const isEmpty = ({ contents, errors }: Document.Parsed) =>
  errors.length === 0 && contents?.range?.[0] === contents?.range?.[1]

/** A parsed YAML or JSON file with one document (rules/cli.md#yaml-files), and the places of all values. */
export class YamlDocument {
  readonly value: unknown
  /** Syntax errors; `value` is undefined if there are any. */
  readonly problems: readonly Problem[]
  readonly #yaml: Yaml
  readonly #lines: InstanceType<Yaml['LineCounter']>
  readonly #document: Document.Parsed

  constructor(text: string, yaml: Yaml) {
    this.#yaml = yaml
    this.#lines = new yaml.LineCounter()
    // Names are texts: `0123` without quotes is not the name `123`.
    const options = { lineCounter: this.#lines, prettyErrors: false, logLevel: 'silent', stringKeys: true } as const
    const documents: readonly Document.Parsed[] = yaml.parseAllDocuments(text, options)
    const [document = yaml.parseDocument('', options), second] = documents.filter((it) => !isEmpty(it))
    this.#document = document
    const mistakes = document.errors.map(({ pos, message }) => ({
      ...this.#placeAt(pos[0]),
      message: `${(message.split('\n', 1)[0] ?? '').replace(/[.:]$/, '')}.`,
    }))
    const message = 'A second document starts here. A file holds one.'
    this.problems = second === undefined ? mistakes : [...mistakes, { ...this.#placeAt(second.range[0]), message }]
    if (this.problems.length > 0) return
    try {
      const value: unknown = this.#document.toJS({ maxAliasCount: ALIASES_MAX })
      // Fails for an alias inside its own anchor.
      JSON.stringify(value)
      this.value = value
    } catch {
      this.problems = [{ ...this.#placeAt(0), message: 'The aliases cannot be followed.' }]
    }
  }

  /** Finds the place of a member's name or a list item; for a missing member, the place of the incomplete record. */
  placeOf(path: Path): Place {
    return this.#placeAt(this.#find(path).offset)
  }

  /** Places of numbers and booleans below a member that differ as texts from what the file has, such as 0123. */
  changedAsText(path: Path): readonly Place[] {
    const { node } = this.#find(path)
    const places: Place[] = []
    this.#yaml.visit(node ?? null, {
      Scalar: (key, { value, source, range }) => {
        const isText = key === 'key' || value === null || typeof value === 'string'
        if (!isText && String(value) !== source) places.push(this.#placeAt(range?.[0] ?? 0))
      },
    })
    return places
  }

  #find(path: Path) {
    const { isAlias, isMap, isScalar, isSeq } = this.#yaml
    let node: Node | null | undefined = this.#document.contents
    let offset = node?.range?.[0] ?? 0
    for (const part of path) {
      if (isAlias(node)) node = node.resolve(this.#document)
      if (isMap(node)) {
        const items: readonly Pair[] = node.items
        const pair = items.find(({ key }) => isScalar(key) && String(key.value) === String(part))
        if (pair === undefined) break
        offset = (pair.key as Node).range?.[0] ?? offset
        node = pair.value as Node | null
      } else if (isSeq(node)) {
        node = node.items[Number(part)] as Node | undefined
        offset = node?.range?.[0] ?? offset
      } else break
    }
    return { node, offset }
  }

  #placeAt(offset: number): Place {
    const { line, col } = this.#lines.linePos(offset)
    return { line: Math.max(line, 1), column: Math.max(col, 1) }
  }
}
