import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { equivalents } from './equivalents.js'
import { portions } from './portions.js'

const fileOf = (path: string) => new URL(`../../${path}`, import.meta.url)

it.each(Object.entries(equivalents))('equivalent mutants of %s begin in lines of the file', (file, entries) => {
  const lines = readFileSync(fileOf(file), 'utf8')
    .split('\n')
    .map((line) => line.trim())
  expect(entries.filter(({ from }) => !lines.includes(from))).toEqual([])
  expect(entries.filter(({ from, to, reason }) => [to].flat().includes(from) || reason === '')).toEqual([])
})

describe.each(portions)('mutated portion $name', ({ sources, tests }) => {
  it('portion names existing sources and tests', () => {
    expect(sources.filter((it) => !existsSync(fileOf(it)))).toEqual([])
    expect(tests.filter((it) => !existsSync(fileOf(it.slice(0, it.lastIndexOf('/')).replace('/**', ''))))).toEqual([])
  })
})

it('listed equivalent mutants are in files of the mutated portions', () => {
  const files = portions.flatMap(({ sources }) =>
    sources.flatMap((it) => (it.endsWith('.ts') ? [it] : readdirSync(fileOf(it)).map((name) => `${it}/${name}`))),
  )
  expect(Object.keys(equivalents).filter((it) => !files.includes(it))).toEqual([])
})
