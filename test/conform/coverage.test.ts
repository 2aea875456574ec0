import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ruleOf } from '../../src/conform/probe.js'
import { allProbes } from '../../src/conform/probes/index.js'
import { chaptersWithoutProbes, unprobed } from '../support/conform/unprobed.js'

const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^a-z0-9 -]/g, '')
    .replaceAll(' ', '-')

/** Anchors of the rules by chapter. */
const rulesFolder = new URL('../../src/contract/rules/', import.meta.url)
const chapters = readdirSync(rulesFolder)
  .map((file) => readFileSync(new URL(file, rulesFolder), 'utf8'))
  .map((text) => ({
    chapter: text.slice(2, text.indexOf('\n')),
    rules: [...text.matchAll(/^## (.+)$/gm)].map(([, heading = '']) => anchorOf(heading)),
  }))
const rules = chapters.filter((it) => !(it.chapter in chaptersWithoutProbes)).flatMap((it) => it.rules)
const probed = new Set(allProbes.map(ruleOf))

test('every rule of a platform has either a probe or the reason why it has none', () => {
  expect(rules.filter((it) => probed.has(it) === it in unprobed)).toEqual([])
})

test('at least four rules in five have a probe', () => {
  expect(rules.filter((it) => probed.has(it)).length / rules.length).toBeGreaterThanOrEqual(0.8)
})

test('probes and reasons name rules and chapters that exist', () => {
  expect([...probed, ...Object.keys(unprobed)].filter((it) => !rules.includes(it))).toEqual([])
  const titles = chapters.map((it) => it.chapter)
  expect(Object.keys(chaptersWithoutProbes).filter((it) => !titles.includes(it))).toEqual([])
})

test('no two probes have the same id or the same title', () => {
  for (const member of ['id', 'title'] as const) {
    const values = allProbes.map((it) => it[member])
    expect(values.filter((it, at) => values.indexOf(it) !== at)).toEqual([])
  }
})

test('title of each probe ends like a sentence', () => {
  expect(allProbes.filter(({ title }) => !/^[^.].*\.$/.test(title)).map((it) => it.id)).toEqual([])
})

test('no two files of probes store an object of the run under the same name', () => {
  const folder = new URL('../../src/conform/', import.meta.url)
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((it) => it.endsWith('.ts'))
  const names = files.flatMap((file) => {
    const source = readFileSync(new URL(file, folder), 'utf8')
    // `keep` puts the name of its group before the name that it gets.
    const kept = source.matchAll(/\b(?:once|shared|(keep))\(\s*(?:it,\s*)?(['`].+?['`])/g)
    return [...new Set(Array.from(kept, ([, group = '', name]) => group + name))]
  })
  expect(names.length).toBeGreaterThan(30)
  expect(names.filter((it, at) => names.indexOf(it) !== at)).toEqual([])
})
