import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { campaigns } from './faults/campaigns/index.js'

/** What README.md claims, and test/faults/README.md of the rows of the budgets, points at what is there. */

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
const isThere = (path: string) => existsSync(new URL(`../${path}`, import.meta.url))
const known: readonly string[] = campaigns.map(({ row }) => row)
const { scripts } = JSON.parse(read('package.json')) as { scripts: Readonly<Record<string, string>> }

/** The rows of a section's table, by their cells. */
function tableOf(file: string, section: string): string[][] {
  const [, rest = ''] = read(file).split(`\n## ${section}\n`)
  const lines = (rest.split('\n## ')[0] ?? '').split('\n').filter((line) => line.startsWith('| '))
  return lines.slice(1).map((line) => line.slice(2, -2).split(' | '))
}

/** @param shownBy files, each followed by what its tests are called; rows of campaigns; commands */
function expectThere(shownBy: string): void {
  const files = [...shownBy.matchAll(/`((?:test\/|\.ci\/)[^`]+)`((?:,? "[^"]+")*)/g)]
  for (const [, path = '', names = ''] of files) {
    expect(isThere(path), path).toBe(true)
    for (const [, name = ''] of names.matchAll(/"([^"]+)"/g))
      expect([path, read(path).includes(name), name]).toEqual([path, true, name])
  }
  const rows = [...shownBy.matchAll(/\bR\d+\b/g)].map(([row]) => row)
  expect(rows.filter((row) => !known.includes(row))).toEqual([])
  const commands = [...shownBy.matchAll(/`npm run (\w+)/g)].map(([, name = '']) => name)
  expect(commands.filter((name) => !(name in scripts))).toEqual([])
  expect(files.length + rows.length + commands.length).toBeGreaterThan(0)
}

const claims = ['Security', 'What shows the rest'].flatMap((section) => tableOf('README.md', section))

describe.each(claims)('README: %s', (_claim, shownBy = '') => {
  it('is shown by what is there', () => expectThere(shownBy))
})

it('README has a table of promises, and one of the rest', () => expect(claims.length).toBeGreaterThan(25))

it('every path of the tests that the README names is there', () => {
  const paths = [...read('README.md').matchAll(/[`(](test\/[a-z/.-]+|\.ci\/run)[`)#]/g)].map(([, path = '']) => path)
  expect(paths.length).toBeGreaterThan(40)
  expect(paths.filter((path) => !isThere(path))).toEqual([])
})

describe('every row of reliability and safety', () => {
  const seen = tableOf('test/faults/README.md', 'What was seen')

  it('from R1 to R14 has its result', () => {
    const rows = new Set(seen.map(([row = '']) => /^R\d+/.exec(row)?.[0]))
    expect(Array.from({ length: 14 }, (_, n) => `R${n + 1}`).filter((row) => !rows.has(row))).toEqual([])
  })

  it.each(seen)('%s is shown by a campaign, whose seed is told, or by tests', (row = '', by = '', result = '') => {
    if (by.includes('`')) expectThere(by)
    else
      expect([row, row === 'clock' || known.includes(/^R\d+/.exec(row)?.[0] ?? ''), /^[\w-]+$/.test(by)]).toEqual([
        row,
        true,
        true,
      ])
    expect(result.length).toBeGreaterThan(20)
  })
})
