import { DELIVERIES } from '../contract/platform/fault-kinds.js'
import {
  canBeDisturbed,
  type DisturbanceName,
  disturbanceOf,
  disturbances,
  subjectOf,
  type Variant,
} from './disturbances.js'
import { type Facts, type FindingName, rows } from './judge.js'
import { isAccepted, type Moment, type Outcome, type Sent } from './record.js'
import type { Finding, ProveReport } from './result.js'

interface Judged {
  readonly trials: readonly [Outcome, Outcome]
  readonly outcomes: readonly Outcome[]
  readonly facts: Facts
  /** Variants that could not run, with reasons. */
  readonly failed: readonly { readonly id: string; readonly reason: string }[]
  readonly notRun: readonly Variant[]
  readonly lacks: readonly string[]
}

/** Judges all outcomes, and reports a finding once for its cause. */
export function reportOf({ trials, outcomes, facts, failed, notRun, lacks }: Judged): ProveReport {
  const found = new Map<string, { readonly name: FindingName; readonly sentence: string; readonly shown: Outcome[] }>()
  const byOutcome = new Map<Outcome, Set<FindingName>>()
  for (const outcome of [...trials, ...outcomes]) {
    for (const [name, { subject, sentence }] of findingsIn(outcome, facts)) {
      const key = `${name} ${subject}`
      const known = found.get(key) ?? { name, sentence, shown: [] }
      known.shown.push(outcome)
      found.set(key, known)
      byOutcome.set(outcome, (byOutcome.get(outcome) ?? new Set()).add(name))
    }
  }
  const names = Object.keys(rows)
  const findings = [...found.values()].sort((a, b) => names.indexOf(a.name) - names.indexOf(b.name)).map(findingOf)
  const results = outcomes.map((it) => ({
    variant: it.id,
    result: [...(byOutcome.get(it) ?? [])].join(', ') || resultOf(it),
    duration_ms: Math.round(it.durationMs),
  }))
  const left = notRun.filter((it) => it.strikes.length === 1)
  const count = (result: string) => results.filter((it) => it.result === result).length
  const [one] = trials
  return {
    runs: {
      undisturbed: trials.length,
      variants: outcomes.length,
      held: count('held'),
      no_effect: count('no effect'),
      not_run: notRun.length,
    },
    calls: one.calls.filter((it) => it.nth > 0).map((it) => ({ call: nameOf(it), status: it.status })),
    deliveries: one.deliveries.map((it) => ({
      delivery: subjectOf({ endpoint: DELIVERIES, nth: it.nth }),
      type: it.type,
    })),
    results: [...results, ...left.map(({ id }) => ({ variant: id, result: 'not run', duration_ms: 0 }))],
    findings,
    remarks: remarksOf([...trials, ...outcomes]),
    not_proved: [...lacks, ...notProved(one, outcomes, failed, notRun)],
  }
}

const nameOf = (it: Sent) => subjectOf({ endpoint: it.endpoint ?? it.path, nth: it.nth })

const resultOf = ({ unjudged, tookEffect }: Outcome) =>
  unjudged !== undefined ? 'not judged' : tookEffect ? 'held' : 'no effect'

/** The findings of one outcome. An undisturbed run can only show secrets. */
export function findingsIn(outcome: Outcome, facts: Facts, judges: typeof rows | Partial<typeof rows> = rows) {
  if (outcome.unjudged !== undefined) return []
  const isUndisturbed = outcome.id === 'undisturbed'
  return (Object.entries(judges) as [FindingName, (typeof rows)[FindingName]][]).flatMap(([name, row]) => {
    const shown = isUndisturbed && row.weight !== 'secrets' ? undefined : row.find(outcome, facts)
    return shown === undefined ? [] : [[name, shown] as const]
  })
}

function findingOf({
  name,
  sentence,
  shown,
}: {
  readonly name: FindingName
  readonly sentence: string
  readonly shown: readonly Outcome[]
}): Finding {
  const [simplest] = shown.toSorted((a, b) => a.id.split('+').length - b.id.split('+').length)
  const { weight, cure } = rows[name]
  const variants = [...new Set(shown.map((it) => it.id))]
  const only = simplest?.id ?? ''
  return {
    finding: name,
    weight,
    variants,
    sentence,
    timeline: simplest === undefined ? [] : timelineOf(simplest),
    only,
    cure,
  }
}

/** What the program, its calls and the platform did, in the order of time. */
function timelineOf({ moments, calls, deliveries }: Outcome): Finding['timeline'] {
  const keys = [...new Set(calls.flatMap(({ key }) => key ?? []))]
  const keyName = (key: string) => `key ${keys.indexOf(key) + 1}`
  const all: Moment[] = [
    ...moments,
    ...calls.map((it) => ({ at: it.startedAt, who: 'call' as const, text: callText(it, keyName) })),
    ...deliveries.map(({ at, type, updateId, status, fault }) => ({
      at,
      who: 'delivery' as const,
      text: `${type} (update ${updateId}${fault ? `, ${fault}` : ''}): ${status ?? 'no response'}`,
    })),
  ]
  return all.sort((a, b) => a.at - b.at).map(({ at, who, text }) => ({ at_ms: Math.round(at), who, text }))
}

/** What faults did to the response of a call. */
const responseTexts: Readonly<Record<string, string>> = {
  drop_response: ', response lost',
  cut_body: ', response cut off',
  silence: ', no response',
  hang: ', no response',
  hold: ', held',
}

/** @param keyName names a key, so that its repeats differ from another one */
function callText(it: Sent, keyName: (key: string) => string): string {
  const isUndone = it.fault === 'hang' || it.fault === 'refuse_connection'
  const made = isUndone ? 'not carried out' : [it.status, it.code].filter((part) => part !== null).join(' ')
  const key = it.key === undefined ? '' : `, ${keyName(it.key)}`
  return `${nameOf(it)}: ${made}${it.replayed ? ', replayed' : ''}${responseTexts[it.fault ?? ''] ?? ''}${key}`
}

function remarksOf(outcomes: readonly Outcome[]): string[] {
  const all = outcomes.flatMap((it) => [
    ...it.leaks.filter(({ isFinding }) => !isFinding).map(({ what, where }) => `It printed ${what} in ${where}.`),
    ...it.deliveries
      // The copy of a kill is as right as the delivery itself.
      .filter(({ isCopy, status }) => isCopy && it.id.includes('/stale') && !it.copyChanged && isAccepted(status))
      .map(
        () =>
          'It responded 2xx to a delivery that was signed 10 minutes ago; its state did not change, or is not known.',
      ),
  ])
  return [...new Set(all)]
}

/** Says what the run did not prove. */
function notProved(
  { calls }: Outcome,
  outcomes: readonly Outcome[],
  failed: Judged['failed'],
  notRun: readonly Variant[],
): string[] {
  const untouched = new Set(
    calls.filter((it) => !canBeDisturbed(it.endpoint) || it.nth === 0).map((it) => it.endpoint ?? it.path),
  )
  const without = outcomes.filter((it) => resultOf(it) === 'no effect').map((it) => it.id)
  return [
    ...[...untouched].map((it) => `Calls of ${it} cannot be disturbed.`),
    ...(without.length === 0 ? [] : [`Without effect: ${without.join(', ')}.`]),
    ...unjudged(outcomes, failed),
    ...(notRun.length === 0 ? [] : [`Not run, for lack of time: ${countsOf(notRun)}.`]),
  ]
}

/** Names the variants that could not be judged, by their reasons. */
function unjudged(outcomes: readonly Outcome[], failed: Judged['failed']): string[] {
  const ids = new Map<string, string[]>()
  const all = [...outcomes.map((it) => ({ id: it.id, reason: it.unjudged })), ...failed]
  for (const { id, reason } of all) if (reason !== undefined) ids.set(reason, [...(ids.get(reason) ?? []), id])
  return [...ids].map(([reason, [id, ...more]]) => {
    const others = more.length === 0 ? '' : ` and ${more.length} more`
    return `Not judged: ${id}${others}. ${reason}`
  })
}

/** Counts variants by the call or delivery that they disturb; pairs together. */
function countsOf(variants: readonly Variant[]): string {
  const counts = new Map<string, number>()
  for (const { strikes } of variants) {
    const [strike] = strikes
    const what = strikes.length > 1 || strike === undefined ? 'pairs' : subjectOf(strike)
    counts.set(what, (counts.get(what) ?? 0) + 1)
  }
  return [...counts].map(([what, count]) => (what === 'pairs' ? `${count} pairs` : `${count} of ${what}`)).join(', ')
}

/** Rows and columns of the table: the subject of each variant, and its disturbances. */
export function tableOf({ results, ...report }: Pick<ProveReport, 'results' | 'calls' | 'deliveries'>) {
  const subjects = [...report.calls.map((it) => it.call), ...report.deliveries.map((it) => it.delivery)]
  return (['call', 'program', 'delivery'] as const).flatMap((of) => {
    const names = (Object.keys(disturbances) as DisturbanceName[]).filter((it) => disturbanceOf(it).of === of)
    const cell = (subject: string, name: DisturbanceName) =>
      results.find((it) => it.variant === `${subject}/${name}`)?.result
    const rowsOf = subjects.filter((subject) => names.some((name) => cell(subject, name) !== undefined))
    const used = names.filter((name) => rowsOf.some((subject) => cell(subject, name) !== undefined))
    return rowsOf.length === 0
      ? []
      : [
          {
            headings: used,
            rows: rowsOf.map((subject) => ({ subject, cells: used.map((it) => cell(subject, it) ?? '') })),
          },
        ]
  })
}
