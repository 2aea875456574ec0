import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { type Equivalent, equivalents } from './equivalents.js'
import { portions } from './portions.js'

const fileOf = (path: string) => new URL(`../../${path}`, import.meta.url)

it.each(Object.entries(equivalents))('equivalent mutants of %s begin in lines of the file', (file, entries) => {
  const lines = readFileSync(fileOf(file), 'utf8')
    .split('\n')
    .map((line) => line.trim())
  expect(entries.filter(({ from }) => !lines.includes(from))).toEqual([])
  // Without a reason, the last line of an entry is a change.
  const isWhole = ({ from, to, reason }: Equivalent) => to.length > 0 && !to.includes(from) && !/^[-+] /.test(reason)
  expect(entries.filter((it) => !isWhole(it))).toEqual([])
})

/** Expands the alternatives in the braces of a pattern. */
function alternativesOf(pattern: string): string[] {
  const [, start, list, end] = /^(.*)\{(.*)\}(.*)$/.exec(pattern) ?? []
  return list === undefined ? [pattern] : list.split(',').map((it) => `${start}${it}${end}`)
}

/** True if a file has this path, of which the name may have one `*`. */
function hasFile(path: string): boolean {
  const folder = fileOf(path.slice(0, path.lastIndexOf('/')).replace('/**', ''))
  const [start = '', end = ''] = path.slice(path.lastIndexOf('/') + 1).split('*')
  return existsSync(folder) && readdirSync(folder).some((name) => name.startsWith(start) && name.endsWith(end))
}

describe.each(portions)('mutated portion $name', ({ sources, tests }) => {
  it('portion names existing sources and tests', () => {
    expect(sources.filter((it) => !existsSync(fileOf(it)))).toEqual([])
    expect(tests.flatMap(alternativesOf).filter((it) => !hasFile(it))).toEqual([])
  })
})

it('listed equivalent mutants are in files of the mutated portions', () => {
  const files = portions.flatMap(({ sources }) =>
    sources.flatMap((it) => (it.endsWith('.ts') ? [it] : readdirSync(fileOf(it)).map((name) => `${it}/${name}`))),
  )
  expect(Object.keys(equivalents).filter((it) => !files.includes(it))).toEqual([])
})
