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

/** Steps as text up to the maximum length of a file, which a comment at its end then names. */
export interface WrittenSteps {
  readonly parts: readonly string[]
  readonly steps: number
  readonly remarks: string[]
}

/**
 * Formats steps one by one. Returns parts, because to join 16 MiB is a block of other work, and the comments at the end
 * of the file.
 */
export async function writtenSteps(
  { steps, comments }: Pick<ScenarioDraft, 'steps' | 'comments'>,
  textOf: (step: DraftStep) => string,
  inPieces: InPieces,
): Promise<WrittenSteps & { readonly ending: readonly string[] }> {
  const parts: string[] = []
  let length = 0
  for await (const it of inPieces(steps)) {
    if (length > TEXT_MAX) break
    const part = textOf(it)
    length += part.length
    parts.push(part)
  }
  const left = steps.length - parts.length
  const ending = left === 0 ? comments : [...comments, `The recording was too long: steps missing at its end: ${left}.`]
  const remarks = [...steps.slice(0, parts.length).flatMap((it) => it.comments), ...ending]
  return { parts, steps: parts.length, remarks, ending }
}

/** First line of a recorded scenario. Its server is its own, so that no variable sends its calls to another one. */
const FIRST_LINE =
  '# Runs on its own new server: voucherctl scenario run FILE. To run it on another one, add --base-url URL.\n'

/** Formats a scenario file. */
export async function scenarioText(
  name: string,
  draft: ScenarioDraft,
  yaml: Yaml,
  inPieces: InPieces,
): Promise<WrittenSteps> {
  const { autoApprove, respond } = draft
  const head = {
    name,
    server: { own: true, ...(autoApprove ? { auto_approve: true } : {}) },
    ...(respond === undefined ? {} : { webhook: { respond } }),
  }
  const textOf = (it: DraftStep) => indented(stepText(it, yaml))
  const { parts, ending, ...written } = await writtenSteps(draft, textOf, inPieces)
  const end = ending.length === 0 ? [] : [`\n${commentOf(ending)}`]
  return { ...written, parts: [`${FIRST_LINE}${yaml.stringify(head, format)}steps:\n`, ...parts, ...end] }
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

/** Indents lines. Not with the flag m: its ^ also matches after characters that end no line in YAML. */
export const indented = (text: string) => text.replace(/(^|\n)(?=[^\n])/g, '$1  ')

/** Comments cannot contain line breaks, with which a text of a program could add steps. */
export const commentOf = (lines: readonly string[], mark = '#') =>
  lines.map((it) => `${mark} ${it.replace(/[\r\n\u2028\u2029\u0085]+/g, ' ')}\n`).join('')

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
