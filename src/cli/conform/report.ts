import { groups } from '../../conform/group.js'
import { type Basis, kinds, type Leftover, type ProbeResult, type Verdict } from '../../conform/result.js'
import type { Paint } from '../output/colour.js'
import type { JunitSuite } from '../output/junit.js'
import { plain, plainLine, wrap } from '../output/text.js'

export interface ConformReport {
  /** True if no probe found a difference or failed, and none was left untested. */
  readonly ok: boolean
  readonly base_url: string
  /** True if the run was interrupted: probes are missing. */
  readonly interrupted: boolean
  readonly holds: number
  readonly differs: number
  readonly not_applicable: number
  readonly not_reachable: number
  /** Probes that were not tested because the offered template or bot cannot be used. */
  readonly not_usable: number
  /** Probes that an error of voucherctl ended. */
  readonly failed: number
  /** Kinds of credentials that the run did not have. */
  readonly lacking: readonly ('token' | 'jwt' | 'bot')[]
  /** Kinds of credentials that the platform stopped accepting during the run. */
  readonly refused: readonly string[]
  readonly items: readonly ProbeResult[]
  /** Why probes have neither held nor differed, each reason once. */
  readonly reasons: readonly { readonly result: Verdict; readonly reason: string; readonly count: number }[]
  /** Resources that the run created and could not remove. */
  readonly left: readonly Leftover[]
}

export function reportOf(
  base_url: string,
  items: readonly ProbeResult[],
  left: readonly Leftover[],
  interrupted: boolean,
  lacking: ConformReport['lacking'] = [],
  refused: ConformReport['refused'] = [],
): ConformReport {
  const count = (result: Verdict) => items.filter((it) => it.result === result).length
  const differs = count('differs')
  const failed = count('failed')
  const [not_reachable, not_usable] = [count('not_reachable'), count('not_usable')]
  const counts = { not_applicable: count('not_applicable'), not_reachable, not_usable, failed }
  const without = items.filter((it) => it.reason !== null)
  return {
    ok: differs + failed + not_reachable + not_usable === 0,
    base_url,
    interrupted,
    holds: count('holds'),
    differs,
    ...counts,
    lacking,
    refused,
    items,
    reasons: grouped(without, (it) => `${it.result} ${it.reason}`).map(([, those]) => {
      const { result = 'failed', reason } = those[0] ?? {}
      return { result, reason: reason ?? '', count: those.length }
    }),
    left,
  }
}

const LABEL_WIDTH = 10
const INDENT = '    '

/** Formats the report for people: a summary, each difference by weight, what was not tested and why, what is left. */
export function linesOf(report: ConformReport, width: number, paint: Paint): string[] {
  const { items, left, reasons } = report
  const differences = inOrder(items.filter((it) => it.result === 'differs'))
  const present = differences.filter((it) => it.missing_path === null)
  return [
    ...wrap(summary(report, paint), width),
    ...weightLines(present, width),
    '',
    ...missingLines(differences, width, paint),
    ...present.filter((it) => it.kind !== 'wording').flatMap((it) => [...differenceLines(it, width, paint), '']),
    ...wordingLines(present, width, paint),
    ...reasonLines(reasons, 'failed', 'Failed by an error of voucherctl', width),
    ...reasonLines(reasons, 'not_usable', 'Not tested, because this cannot be used', width),
    ...reasonLines(reasons, 'not_reachable', 'Not tested, because the platform was not reachable', width),
    ...reasonLines(reasons, 'not_applicable', 'Not applicable', width),
    ...leftLines(left, width),
    ...groupLines(items, paint),
  ]
}

const rankOf = ({ basis, kind }: ProbeResult) =>
  (kind === 'wording' ? 100 : basis === 'decided' ? 10 : 0) + kinds.indexOf(kind)

/** Sorts differences by what they can harm, specified ones first. */
const inOrder = (differences: readonly ProbeResult[]) => differences.toSorted((a, b) => rankOf(a) - rankOf(b))

function grouped(results: readonly ProbeResult[], keyOf: (it: ProbeResult) => string) {
  const groups = new Map<string, ProbeResult[]>()
  for (const it of results) groups.set(keyOf(it), [...(groups.get(keyOf(it)) ?? []), it])
  return [...groups]
}

/** Names the rules of the differences, a line for each weight. */
const weightLines = (differences: readonly ProbeResult[], width: number) =>
  grouped(differences, ({ basis, kind }) => `${basis} ${kind}`).flatMap(([weight, those]) => {
    const rules = grouped(those, (it) => it.rule).map(([rule, { length }]) => `${plainLine(rule)} (${length})`)
    return wrap(`${weight}: ${rules.join(', ')}`, width - 2).map((line, at) => `${at === 0 ? '' : '  '}${line}`)
  })

function missingLines(differences: readonly ProbeResult[], width: number, paint: Paint): string[] {
  const missing = differences.filter((it) => it.missing_path !== null)
  const paths = grouped(missing, (it) => it.missing_path ?? '').map(
    ([path, { length }]) => `${path} (${counted(length, 'probe')})`,
  )
  if (paths.length === 0) return []
  return [...wrap(`${paint.error('✗')} The platform does not have: ${paths.join(', ')}`, width), '']
}

/** One entry for all refusals whose code alone differs. */
function wordingLines(differences: readonly ProbeResult[], width: number, paint: Paint): string[] {
  const own = differences.filter((it) => it.kind === 'wording')
  if (own.length === 0) return []
  const lines = grouped(own, (it) => `${it.observed} instead of ${it.expected}, ${it.basis}`).flatMap(
    ([text, those]) => {
      const probes = those.map((it) => it.probe).join(', ')
      return indented(plainLine(`${text} (${counted(those.length, 'probe')}): ${probes}`), width, '', '  ')
    },
  )
  return [`${paint.error('✗')} ${paint.strong(counted(own.length, 'refusal'))} with another code`, ...lines, '']
}

const counted = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`

const basisTexts: Readonly<Record<Basis, string>> = {
  specified: 'specified by the interface',
  partly_specified: 'partly specified by the interface, partly decided by the reference',
  decided: 'decided by the reference, where the interface is silent',
}

function differenceLines(
  { probe, title, basis, kind, expected, observed, request, variables }: ProbeResult,
  width: number,
  paint: Paint,
) {
  const member = (label: string, text: string | null) =>
    text === null ? [] : indented(plainLine(text), width, label.padEnd(LABEL_WIDTH), ' '.repeat(LABEL_WIDTH))
  return [
    `${paint.error('✗')} ${paint.strong(plainLine(probe))}`,
    ...indented(plainLine(title), width),
    ...member('basis', `${basisTexts[basis]} (${kind})`),
    ...member('expected', expected),
    ...member('observed', observed),
    ...(request === null ? [] : [plain(request).replaceAll(/^/gm, '    ')]),
    ...Object.entries(variables).flatMap(([name, owner]) => indented(plainLine(variableText(name, owner)), width)),
  ]
}

const variableText = (name: string, owner: string) =>
  `${name} belongs to ${owner}, which the run made: make another one to send the request.`

/** Wraps a text under a heading; `first` stands before its first line, `more` before the others. */
function indented(text: string, width: number, first = '', more = first): string[] {
  const lines = wrap(text, width - INDENT.length - first.length)
  return lines.map((line, at) => `${INDENT}${at === 0 ? first : more}${line}`)
}

function reasonLines(reasons: ConformReport['reasons'], result: Verdict, heading: string, width: number): string[] {
  const own = reasons.filter((it) => it.result === result)
  if (own.length === 0) return []
  const lines = own.flatMap(({ reason, count }) =>
    indented(plainLine(reason), width, `${String(count).padStart(3)}  `, '     '),
  )
  return [`${heading}:`, ...lines, '']
}

function leftLines(left: readonly Leftover[], width: number): string[] {
  if (left.length === 0) return []
  const byKind = new Map<string, string[]>()
  for (const { kind, id } of left) byKind.set(kind, [...(byKind.get(kind) ?? []), id])
  const lines = [...byKind].flatMap(([kind, [first = '', ...more]]) =>
    indented(`${kind}: ${plainLine(first)}${more.length === 0 ? '' : ` and ${more.length} more`}`, width),
  )
  return ['Left on the platform (--json lists all, with reasons):', ...lines, '']
}

function groupLines(items: readonly ProbeResult[], paint: Paint): string[] {
  const cells = (row: readonly string[]) =>
    `${row[0]?.padEnd(12)}${row
      .slice(1)
      .map((one) => one.padStart(15))
      .join('')}`
  const head = paint.quiet(cells(['group', 'holds', 'differs', 'not applicable', 'not tested']))
  const rows = groups.flatMap((group) => {
    const own = items.filter((it) => it.group === group)
    if (own.length === 0) return []
    const count = (result: Verdict) => String(own.filter((it) => it.result === result).length)
    const untested = String(own.filter(isUntested).length)
    return cells([group, count('holds'), count('differs'), count('not_applicable'), untested])
  })
  return [head, ...rows]
}

const isUntested = ({ result }: ProbeResult) => result === 'not_reachable' || result === 'not_usable'

function summary({ ok, base_url, holds, differs, items, interrupted }: ConformReport, paint: Paint): string {
  const mark = ok ? paint.done('✓') : paint.error('✗')
  const rules = `${holds} of ${holds + differs} statements hold`
  const specified = items.filter((it) => it.result === 'differs' && it.basis !== 'decided').length
  const differences = differs === 0 ? '' : `, ${counted(differs, 'difference')} (${specified} specified)`
  const untested = items.filter(isUntested).length
  const rest = `${untested === 0 ? '' : `, ${untested} not tested`}${interrupted ? ', interrupted' : ''}`
  return `${mark} ${plainLine(base_url)}: ${rules}${differences}${rest}.`
}

const junitStatuses = {
  holds: 'passed',
  differs: 'failed',
  failed: 'failed',
  not_applicable: 'skipped',
  not_reachable: 'error',
  not_usable: 'error',
} as const

export function suitesOf({ items }: ConformReport): readonly JunitSuite[] {
  return groups.flatMap((group) => {
    const own = items.filter((it) => it.group === group)
    if (own.length === 0) return []
    const cases = own.map(
      ({ probe, title, basis, kind, result, reason, expected, observed, request, duration_ms }) => ({
        name: `${probe}: ${title}`,
        status: junitStatuses[result],
        duration_ms,
        problems:
          result === 'failed'
            ? [`The probe failed: ${reason}`]
            : [
                `expected ${expected}, observed ${observed}`,
                `Basis: ${basisTexts[basis]}`,
                `Kind: ${kind}`,
                request ?? '',
              ],
        reason,
      }),
    )
    return [{ name: group, duration_ms: cases.reduce((sum, it) => sum + it.duration_ms, 0), cases }]
  })
}
