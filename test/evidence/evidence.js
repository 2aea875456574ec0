import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../support/planting.js'
import { readDeviations } from './deviations.js'
import { commandOf, PROBES, readTagged } from './proofs.js'
import { readRules } from './rules.js'

const read = (/** @type {string} */ path) => readFileSync(join(root, path), 'utf8')

/** The beginning of the document, with a table of what can be validated. */
const INTRODUCTION = 'src/contract/EVIDENCE.md'
const VALIDATION = /^\| (.+) \| (yes|no|with conditions) \| (.+) \|$/gm

const kindOf = (/** @type {string} */ file) =>
  file.startsWith('test/faults/') ? 'campaign' : file.startsWith('test/mutation/') ? 'mutants' : 'test'

/**
 * Joins rules and proofs. A rule is proven if a proof fails for a planted mistake: a deviation, a deviant server, or
 * mutants; unknown if nobody planted one; not proven if it has no proof, or not-proven.json names it.
 * @param {readonly import('./evidence.js').Probes[]} probes
 * @returns {import('../../src/cli/commands/reference/evidence.js').Evidence}
 */
export function readEvidence(probes, allTagged = readTagged()) {
  const reasons = JSON.parse(read('test/evidence/not-proven.json'))
  const results = JSON.parse(read('test/faults/results.json'))
  const planted = new Set(readDeviations().map(({ rule }) => rule))
  for (const { rule, hasDeviant } of probes) if (hasDeviant) planted.add(rule)
  const tagged = allTagged.map((it) => ({ ...it, kind: kindOf(it.file) }))
  for (const { rule, kind } of tagged) if (kind === 'mutants') planted.add(rule)
  const proofs = [
    ...probes.flatMap(({ rule, ids }) => ids.map((name) => ({ rule, kind: 'probe', name, file: PROBES }))),
    ...tagged.filter(({ isSkipped }) => !isSkipped),
  ]
  const rules = readRules().map((rule) => {
    const reason = reasons[rule.id] ?? null
    const own = proofs.filter((it) => it.rule === rule.id)
    const isProven = reason === null && own.length > 0
    return {
      ...rule,
      evidence: !isProven ? 'not_proven' : planted.has(rule.id) ? 'proven' : 'unknown',
      reason,
      proofs: own.map(({ kind, name, file }) => ({ kind, name, file, command: commandOf(file) })),
    }
  })
  const campaigns = new Map(tagged.flatMap((it) => (it.kind === 'campaign' ? [[it.name, it]] : [])))
  const ran = [...campaigns.values()].map(({ name, requirement }) => ({
    name,
    requirement,
    ...(results[name] ?? none),
  }))
  return {
    rules,
    validation: [...read(INTRODUCTION).matchAll(VALIDATION)].map(([, what, answer, how]) => ({ what, answer, how })),
    campaigns: [...ran, { ...mutation, ...JSON.parse(read('test/mutation/result.json')) }],
  }
}

const mutation = {
  name: 'mutation tests',
  requirement: 'Each change of the code about money and trust is noticed by a test, or has no effect.',
}

/** Result of a campaign whose long form has not been run since results were first recorded. */
const none = { date: null, commit: null, figures: null }

const titles = { not_proven: 'Not proven', unknown: 'Unknown', proven: 'Proven' }

/** The document of `voucherctl help evidence`. @param {ReturnType<readEvidence>} evidence */
export function documentOf({ rules, campaigns }) {
  const lists = Object.entries(titles).map(([list, title]) => ({
    title,
    rules: rules.filter((it) => it.evidence === list),
  }))
  const counts = lists.map(({ title, rules }) => `${rules.length} ${title.toLowerCase()}`)
  const specified = rules.filter((it) => it.origin === 'specified').length
  const origins = `${specified} specified by the interface of the platform, ${rules.length - specified} decided`
  const rows = campaigns.map((it) =>
    [it.name, it.requirement, it.date, it.commit, it.figures].map((cell) => cell ?? '-'),
  )
  const table = [['campaign', 'requirement', 'date', 'commit', 'figures'], Array(5).fill('---'), ...rows]
  return `${[
    read(INTRODUCTION)
      .replace(/(?=^## )/m, `Of ${rules.length} rules (${origins}): ${counts.join(', ')}.\n\n`)
      .trimEnd(),
    `## Campaigns\n\n${table.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}`,
    ...lists.map(({ title, rules }) => `## ${title}: ${rules.length} rules\n\n${rules.map(textOf).join('\n')}`),
  ].join('\n\n')}\n`
}

/** A rule with its proofs by file. */
function textOf({ id, origin, sentence, reason, proofs }) {
  const files = new Map()
  for (const { file, kind, name } of proofs) {
    const place = kind === 'probe' ? 'probes of `conform`' : `\`${file}\``
    files.set(place, [...(files.get(place) ?? []), name])
  }
  const lines = [...files].map(([place, names]) => `  - ${place}: ${names.join('; ')}`)
  return [`- \`${id}\` *${origin}* ${sentence}`, ...(reason === null ? [] : [`  - Reason: ${reason}`]), ...lines].join(
    '\n',
  )
}
