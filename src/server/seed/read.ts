import { unescapePointer, type ValidationIssue } from '../../contract/envelope.js'
import { type Place, YamlDocument } from '../../files/yaml-document.js'
import { checkSeed } from './check.js'
import type { Seed } from './schema.js'

/** A mistake in a seed file, with the place of its name or value. */
interface SeedProblem extends Place {
  readonly message: string
}

type ReadSeed =
  | { readonly ok: true; readonly seed: Seed }
  | { readonly ok: false; readonly problems: readonly SeedProblem[] }

/** Reads a seed in YAML or JSON, or returns its mistakes with their places. No message contains a token. */
export async function readSeed(text: string): Promise<ReadSeed> {
  const document = new YamlDocument(text, await import('yaml'))
  if (document.problems.length > 0) return refused(document.problems)
  const checked = checkSeed(document.value)
  if (checked.ok) return checked
  const problems = checked.issues.map((issue) => ({
    ...document.placeOf(pathOf(issue)),
    message: `${issueText(issue, 'The file')}.`,
  }))
  return refused(problems.toSorted((a, b) => a.line - b.line || a.column - b.column))
}

function refused(problems: readonly SeedProblem[]): ReadSeed {
  return { ok: false, problems: problems.map((it) => ({ ...it, message: withoutTokens(it.message) })) }
}

const pathOf = ({ pointer }: ValidationIssue) => pointer.split('/').slice(1).map(unescapePointer)

/** Describes a mistake without a token. @param root name of the whole seed */
export function issueText(issue: ValidationIssue, root: string): string {
  const { message, suggestion } = issue
  const hint = suggestion === undefined ? '' : ` (${suggestion})`
  return withoutTokens(`${nameOf(pathOf(issue)) || root} ${message}${hint}`)
}

/** Writes a path as people do: `applications[0].name`. */
const nameOf = (path: readonly string[]) =>
  path.map((it, n) => (/^\d+$/.test(it) ? `[${it}]` : `${n === 0 ? '' : '.'}${it}`)).join('')

/** Hides what looks like a token, because messages repeat names that the file has in a wrong place. */
const withoutTokens = (text: string) => text.replace(/\b(sop|sbot)_\w{4,}/g, '$1_…')
