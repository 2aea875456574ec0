import type { Yaml } from '../files/yaml-document.js'
import { yamlOptions } from '../files/yaml-text.js'
import type { DraftStep } from './convert.js'
import type { ScenarioDraft } from './draft.js'

/** Maximum length of a record that is written on one line. */
const LINE_LENGTH_MAX = 90
const order = ['call', 'receive', 'advance', 'as', 'with', 'key', 'within', 'expect', 'capture', 'use']

/** Formats a scenario file. @param heading lines before the file, such as its schema */
export function scenarioText(name: string, draft: ScenarioDraft, yaml: Yaml): string {
  const { autoApprove, respond, steps, comments } = draft
  const file = {
    name,
    ...(autoApprove ? { server: { auto_approve: true } } : {}),
    ...(respond === undefined ? {} : { webhook: { respond } }),
    steps: steps.map(membersOf),
  }
  const document = new yaml.Document(file, { ...yamlOptions, aliasDuplicateObjects: false })
  yaml.visit(document, {
    Collection(key, node, path) {
      const isShort = JSON.stringify(node).length <= LINE_LENGTH_MAX
      // A jq expression with brackets would need quotes on one line.
      const isPlain = key !== 'value' || !/[[{|]/.test(JSON.stringify(node).slice(1).replaceAll('${', ''))
      if (path.length > 4 && isShort && (isPlain || !isCapture(path))) node.flow = true
    },
  })
  const list = document.get('steps') as InstanceType<Yaml['YAMLSeq']>
  for (const [at, step] of steps.entries()) {
    const node = list.items[at] as { commentBefore?: string }
    if (step.comments.length > 0) node.commentBefore = commentOf(step.comments)
  }
  if (comments.length > 0) document.comment = commentOf(comments)
  return document.toString({ lineWidth: 0, flowCollectionPadding: true })
}

const isCapture = (path: readonly unknown[]) => {
  const pair = path.at(-1) as { key?: { value?: unknown } } | undefined
  return pair?.key?.value === 'capture'
}

/** Comments cannot contain line breaks, with which a text of a program could add steps. */
const commentOf = (lines: readonly string[]) =>
  lines.map((it) => ` ${it.replace(/[\r\n\u2028\u2029\u0085]+/g, ' ')}`).join('\n')

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
