import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Evidence } from '../../src/cli/commands/reference/evidence.js'
import { replaceOnce, root } from '../support/planting.js'
import { readDeviations } from './deviations.js'
import { documentOf, readEvidence } from './evidence.js'
import { probes } from './probes.js'
import { readTagged, taggedIn } from './proofs.js'
import { readRules } from './rules.js'

const rules = readRules()
const tagged = readTagged()
const deviations = readDeviations()
const evidence = readEvidence(probes, tagged)

const withoutProof = ({ rules }: Evidence) =>
  rules.filter(({ proofs, reason }) => proofs.length === 0 && reason === null).map(({ id }) => id)

const unknownRules = (named: readonly { readonly rule: string }[]) =>
  named.map(({ rule }) => rule).filter((it) => !rules.some(({ id }) => id === it))

test('every rule has a proof, or a reason why it has none', () => {
  expect(withoutProof(evidence)).toEqual([])
})

test('a rule whose only proof is skipped is reported as one without a proof', { tags: 'evidence/1' }, () => {
  const only = tagged.find(({ rule }) => evidence.rules.some(({ id, proofs }) => id === rule && proofs.length === 1))
  const skipped = tagged.map((it) => (it === only ? { ...it, isSkipped: true } : it))
  expect(withoutProof(readEvidence(probes, skipped))).toEqual([only?.rule])
})

test('a skipped test, and a test in a skipped describe, count as skipped', () => {
  const own = `test.skip('a', { tags: 'x/1' }, () => {})`
  const inside = `describe.skip('b', () => { test.each([1])('c', { tags: ['x/1'] }, () => {}) })`
  expect(taggedIn('a.test.ts', own + '\n' + inside).map(({ name, isSkipped }) => [name, isSkipped])).toEqual([
    ['a', true],
    ['c', true],
  ])
})

test('every probe, tag, deviation and reason names a rule that exists', () => {
  const reasons = JSON.parse(readFileSync(join(root, 'test/evidence/not-proven.json'), 'utf8'))
  const named = [...probes, ...tagged, ...deviations, ...Object.keys(reasons).map((rule) => ({ rule }))]
  expect(unknownRules(named)).toEqual([])
  expect(unknownRules([{ rule: 'lists/99' }])).toEqual(['lists/99'])
})

test('every specified rule is proven: a deviation breaks it', { tags: 'evidence/1' }, () => {
  const planted = new Set(deviations.map(({ rule }) => rule))
  const specified = evidence.rules.filter(({ origin }) => origin === 'specified')
  expect(specified.filter(({ id, evidence }) => evidence !== 'proven' || !planted.has(id))).toEqual([])
})

test('the text that a deviation replaces stands in its file exactly once', () => {
  for (const it of deviations) expect(() => replaceOnce(readFileSync(join(root, it.file), 'utf8'), it)).not.toThrow()
})

test('the document has each rule once, below the list that it counts in', () => {
  const document = documentOf(evidence)
  for (const { id } of rules) expect(document.split(`\n- \`${id}\` `).length).toBe(2)
  const counts = [...document.matchAll(/^## (?:Not proven|Unknown|Proven): (\d+) rules$/gm)].map(([, it]) => Number(it))
  expect(counts.reduce((sum, it) => sum + it, 0)).toBe(rules.length)
})
