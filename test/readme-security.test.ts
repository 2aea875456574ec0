import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { campaigns } from './faults/campaigns/index.js'

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
const [, section = ''] = read('README.md').split('\n## Security\n')
const rows = section
  .split('\n## ')[0]
  ?.split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| promise '))
  .map((line) => line.slice(2, -2).split(' | ') as [string, string])

describe.each(rows ?? [])('README, Security: %s', (_promise, shownBy) => {
  it('is shown by tests and campaigns that are there', () => {
    // A file, then what its tests are called; or rows of campaigns.
    const files = [...shownBy.matchAll(/`(test\/[^`]+)`((?:,? "[^"]+")*)/g)]
    for (const [, path = '', names = ''] of files) {
      expect(existsSync(new URL(`../${path}`, import.meta.url)), path).toBe(true)
      const text = read(path)
      for (const [, name = ''] of names.matchAll(/"([^"]+)"/g))
        expect([path, text.includes(name), name]).toEqual([path, true, name])
    }
    const known: readonly string[] = campaigns.map(({ row }) => row)
    const named = [...shownBy.matchAll(/\bR\d+\b/g)].map(([row]) => row)
    expect(named.filter((row) => !known.includes(row))).toEqual([])
    expect(files.length + named.length).toBeGreaterThan(0)
  })
})

it('every path of the tests that the README names is there', () => {
  const paths = [...read('README.md').matchAll(/[`(](test\/[a-z/.-]+|\.ci\/run)[`)#]/g)].map(([, path = '']) => path)
  expect(paths.length).toBeGreaterThan(20)
  expect(paths.filter((path) => !existsSync(new URL(`../${path}`, import.meta.url)))).toEqual([])
})

it('README, Security: it has a table of promises', () => expect(rows?.length).toBeGreaterThan(10))
