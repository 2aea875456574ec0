import { didYouMean } from '../../../values/closest.js'
import { leaf } from '../../command/leaf.js'
import { usage } from '../../failures/failure.js'
import { wrapMarkdown } from '../../output/markdown.js'

/** A rule with its proofs, as the build collects them in dist/evidence.json. */
export interface RuleEvidence {
  /** Anchor of its heading, and its number below it, such as `lists/2`. */
  readonly id: string
  /** Title of its file in contract/rules/. */
  readonly chapter: string
  /** Whether the interface of the platform fixes the rule. */
  readonly origin: 'specified' | 'decided'
  readonly sentence: string
  readonly evidence: 'proven' | 'unknown' | 'not_proven'
  /** Why the rule is not proven. */
  readonly reason: string | null
  /** Tests and probes that fail if the rule is broken, with their files and commands. */
  readonly proofs: readonly Record<'kind' | 'name' | 'file' | 'command', string>[]
}

/** The content of dist/evidence.json. */
export interface Evidence {
  readonly rules: readonly RuleEvidence[]
  readonly validation: readonly Record<'what' | 'answer' | 'how', string>[]
  /** Fault campaigns with the result of their last long form; null if there is none. */
  readonly campaigns: readonly Readonly<
    Record<'name' | 'requirement', string> & Record<'date' | 'commit' | 'figures', string | null>
  >[]
}

const states = { proven: 'proven', unknown: 'unknown: nobody has planted a mistake', not_proven: 'not proven' }

const lineOf = ({ kind, name, file }: RuleEvidence['proofs'][number]) => `- ${kind === 'test' ? file : kind}: ${name}`

function textOf({ id, origin, sentence, evidence, reason, proofs }: RuleEvidence): string {
  const byCommand = [...new Set(proofs.map((it) => it.command))].map((command) =>
    [`\`${command}\` runs:`, ...proofs.filter((it) => it.command === command).map(lineOf)].join('\n'),
  )
  const head = `${id}, ${origin}, ${states[evidence]}${reason === null ? '' : `: ${reason}`}`
  return [head, sentence, ...byCommand].join('\n\n')
}

/** Creates the command `evidence` (rules/cli.md#evidence). */
export const evidence = leaf({
  name: 'evidence',
  summary: 'What proves each rule, what is unknown or not proven, what you can validate',
  notes: ['The list of the rules: `voucherctl help rules`. A rule is the anchor of its heading and its number.'],
  positional: { name: 'RULE', summary: 'One rule, such as lists/2, or all below a heading, such as lists' },
  examples: [
    'voucherctl evidence',
    'voucherctl evidence lists/2',
    `voucherctl evidence --jq '.rules[] | select(.evidence != "proven") | .id'`,
  ],
  run: async ({ host, output }, { positional }) => {
    const page = async (text: string) => {
      await output.page(wrapMarkdown(text.trimEnd(), output.width))
      return { ok: true, printed: true } as const
    }
    if (positional === undefined && output.isForPeople) return page(host.document('dist/evidence.md'))
    const all: Evidence = JSON.parse(host.document('dist/evidence.json'))
    if (positional === undefined) return { ok: true, data: all }
    const rules = all.rules.filter(({ id }) => `${id}/`.startsWith(`${positional}/`))
    if (rules.length === 0) {
      const known = all.rules.flatMap(({ id }) => [id, id.slice(0, id.indexOf('/'))])
      const hint = didYouMean(positional, known, 'All rules: `voucherctl help rules`.')
      return usage(`There is no rule '${positional}'.`, hint)
    }
    return output.isForPeople ? page(rules.map(textOf).join('\n\n\n')) : { ok: true, data: { ...all, rules } }
  },
})
