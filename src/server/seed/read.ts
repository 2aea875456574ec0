import type { Document, LineCounter, Node, Pair } from 'yaml'
import { checkSeed } from './check.js'
import type { Seed } from './schema.js'

/** A mistake in a seed file, with the place of its name or value, counted from 1. */
interface SeedProblem {
  readonly line: number
  readonly column: number
  readonly message: string
}

export type ReadSeed =
  | { readonly ok: true; readonly seed: Seed }
  | { readonly ok: false; readonly problems: readonly SeedProblem[] }

/** Maximum number of YAML aliases: with nested aliases a small file expands to gigabytes. */
const ALIASES_MAX = 100

/** Reads a seed in YAML or JSON, or returns its mistakes with their places. No message contains a token. */
export async function readSeed(text: string): Promise<ReadSeed> {
  const yaml = await import('yaml')
  const lines = new yaml.LineCounter()
  const document = yaml.parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'silent' })
  const broken = document.errors.map(({ pos, message }) => problemAt(lines, pos[0], `${message.split('\n', 1)[0]}`))
  if (broken.length > 0) return { ok: false, problems: broken }
  let value: unknown
  try {
    value = document.toJS({ maxAliasCount: ALIASES_MAX })
    // Fails for an alias inside its own anchor.
    JSON.stringify(value)
  } catch {
    return { ok: false, problems: [problemAt(lines, 0, 'The aliases cannot be followed')] }
  }
  const checked = checkSeed(value)
  if (checked.ok) return checked
  const problems = checked.issues.map(({ pointer, message, suggestion }) => {
    const path = pointer.split('/').slice(1).map(unescape)
    const hint = suggestion === undefined ? '' : ` (${suggestion})`
    return problemAt(lines, offsetOf(yaml, document, path), `${nameOf(path)} ${message}${hint}`)
  })
  return { ok: false, problems: problems.toSorted((a, b) => a.line - b.line || a.column - b.column) }
}

const unescape = (part: string) => part.replaceAll('~1', '/').replaceAll('~0', '~')

/** Writes a path as people do: `applications[0].name`. */
const nameOf = (path: readonly string[]) =>
  path.length === 0
    ? 'The file'
    : path.map((it, n) => (/^\d+$/.test(it) ? `[${it}]` : `${n === 0 ? '' : '.'}${it}`)).join('')

/** Hides what looks like a token, because messages repeat names that the file has in a wrong place. */
const withoutTokens = (text: string) => text.replace(/\b(sop|sbot)_\w{4,}/g, '$1_…')

function problemAt(lines: LineCounter, offset: number, message: string): SeedProblem {
  const { line, col } = lines.linePos(offset)
  return {
    line: Math.max(line, 1),
    column: Math.max(col, 1),
    message: `${withoutTokens(message).replace(/[.:]$/, '')}.`,
  }
}

type Yaml = typeof import('yaml')

/** Offset of the name of a member or of the item of a list; for a missing member, of the record that lacks it. */
function offsetOf(
  { isAlias, isMap, isScalar, isSeq }: Yaml,
  document: Document.Parsed,
  path: readonly string[],
): number {
  let node: Node | null | undefined = document.contents
  let offset = node?.range?.[0] ?? 0
  for (const part of path) {
    if (isAlias(node)) node = node.resolve(document)
    if (isMap(node)) {
      const items: readonly Pair[] = node.items
      const pair = items.find(({ key }) => isScalar(key) && String(key.value) === part)
      if (pair === undefined) return offset
      offset = (pair.key as Node).range?.[0] ?? offset
      node = pair.value as Node | null
    } else if (isSeq(node)) {
      node = node.items[Number(part)] as Node | undefined
      offset = node?.range?.[0] ?? offset
    } else return offset
  }
  return offset
}
