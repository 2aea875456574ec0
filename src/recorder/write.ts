import type { Yaml } from '../files/yaml-document.js'
import { yamlOptions } from '../files/yaml-text.js'
import type { DraftStep } from './convert.js'
import type { ScenarioDraft } from './draft.js'
import type { InPieces } from './events.js'

/** Maximum length of a record that is written on one line. */
const LINE_LENGTH_MAX = 90
/** Deeper records are written on one line: indentation would make them many times longer. */
const LEVELS_MAX = 12
/** Maximum characters of the steps, which a server holds in memory. */
const TEXT_MAX = 16 * 1024 * 1024
const order = ['call', 'receive', 'advance', 'as', 'with', 'key', 'within', 'expect', 'capture', 'use']

/**
 * Formats a scenario file, step by step, up to its maximum length. A comment counts the steps that are missing. Returns
 * parts, because to join 16 MiB is a block of other work.
 */
export async function scenarioText(
  name: string,
  draft: ScenarioDraft,
  yaml: Yaml,
  inPieces: InPieces,
): Promise<{ parts: readonly string[]; steps: number; remarks: string[] }> {
  const { autoApprove, respond, steps, comments } = draft
  const head = {
    name,
    ...(autoApprove ? { server: { auto_approve: true } } : {}),
    ...(respond === undefined ? {} : { webhook: { respond } }),
  }
  const parts = [`${yaml.stringify(head, format)}steps:\n`]
  let length = 0
  for await (const it of inPieces(steps)) {
    if (length > TEXT_MAX) break
    // Not the flag m: its ^ also matches after characters that end no line in YAML.
    const part = stepText(it, yaml).replace(/(^|\n)(?=[^\n])/g, '$1  ')
    length += part.length
    parts.push(part)
  }
  const written = parts.length - 1
  const left = steps.length - written
  const ending = left === 0 ? comments : [...comments, `The recording was too long: steps missing at its end: ${left}.`]
  const remarks = [...steps.slice(0, written).flatMap((it) => it.comments), ...ending]
  if (ending.length > 0) parts.push(`\n${commentOf(ending)}`)
  return { parts, steps: written, remarks }
}

const format = { ...yamlOptions, flowCollectionPadding: true, aliasDuplicateObjects: false }

function stepText(step: DraftStep, yaml: Yaml): string {
  const document = new yaml.Document([membersOf(step)], format)
  yaml.visit(document, {
    Collection(_, node, path) {
      const text = JSON.stringify(node)
      const { key } = path.at(-1) as { key?: { value?: unknown } }
      // A jq expression with brackets would need quotes on one line.
      const isPlain = key?.value !== 'capture' || !/[[{|]/.test(text.slice(1).replaceAll('${', ''))
      if (path.length > LEVELS_MAX || (path.length > 2 && text.length <= LINE_LENGTH_MAX && isPlain)) node.flow = true
    },
  })
  return commentOf(step.comments) + document.toString(format)
}

/** Comments cannot contain line breaks, with which a text of a program could add steps. */
const commentOf = (lines: readonly string[]) =>
  lines.map((it) => `# ${it.replace(/[\r\n\u2028\u2029\u0085]+/g, ' ')}\n`).join('')

function membersOf({ members, capture, use }: DraftStep): Record<string, unknown> {
  const all: Record<string, unknown> = { ...members, capture, use }
  return Object.fromEntries(
    order.flatMap((name) => {
      const value = all[name]
      const isEmpty =
        value === undefined || ((name === 'capture' || name === 'use') && Object.keys(value as object).length === 0)
      return isEmpty ? [] : [[name, value]]
    }),
  )
}
