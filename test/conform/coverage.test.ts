import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { allProbes } from '../../src/conform/probes/index.js'

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
