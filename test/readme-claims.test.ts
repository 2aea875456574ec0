import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, it, test } from 'vitest'
import { campaigns } from './faults/campaigns/index.js'

/** Tests that every test file, fault campaign and command that a document names exists. */

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
const exists = (path: string) => existsSync(new URL(`../${path}`, import.meta.url))
const campaignRows = new Set(campaigns.map(({ row }) => row))
const { scripts } = JSON.parse(read('package.json')) as { scripts: Readonly<Record<string, string>> }

function sectionOf(file: string, section: string): string {
  const [, rest = ''] = read(file).split(`\n## ${section}\n`)
  return rest.split('\n## ')[0] ?? ''
}

/** The cells of each row of all tables in a section of a document, without the header rows. */
function tablesOf(file: string, section: string): string[][] {
  return sectionOf(file, section)
    .split('\n')
    .filter((line, index, lines) => line.startsWith('| ') && !lines[index + 1]?.startsWith('|---'))
    .map((line) => line.slice(2, -2).split(' | '))
}

/** Promise and proof of each line of the list, such as `- a release is complete: campaign R1`. */
const promises = sectionOf('test/README.md', 'Which test proves which promise')
  .split('\n')
  .flatMap((line) => {
    const [, promise = '', proof = ''] = /^- (.+?): (.+)$/.exec(line) ?? []
    return promise === '' ? [] : [[promise, proof]]
  })

test('test/README.md names the tests of at least 30 promises', () => {
  expect(promises.length).toBeGreaterThanOrEqual(30)
})

it.each(promises)('test/README.md names existing proof that %s', (_promise, proof = '') => {
  const files = [...proof.matchAll(/`((?:test\/|\.ci\/)[^`]+)`/g)].map(([, path = '']) => path)
  expect(files.filter((path) => !exists(path))).toEqual([])
  const rows =
    /\bcampaigns? ([\w, ]+)/
      .exec(proof)?.[1]
      ?.split(/, /)
      .filter((row) => row !== '') ?? []
  expect(rows.filter((row) => !campaignRows.has(row))).toEqual([])
  const commands = [...proof.matchAll(/`npm run (\w+)/g)].map(([, name = '']) => name)
  expect(commands.filter((name) => !(name in scripts))).toEqual([])
  expect(files.length + rows.length + commands.length).toBeGreaterThan(0)
  // A quoted test name would be wrong after the test is renamed.
  expect(proof).not.toContain('"')
})

test('src/inspector/README.md quotes existing tests for each threat to the page', () => {
  const [, safety = ''] = read('src/inspector/README.md').split('\n## Safety\n')
  const files = [...safety.matchAll(/`(test\/[^`]+)`/g)].map(([, path = '']) => read(path)).join('\n')
  const threats = tablesOf('src/inspector/README.md', 'Safety')
  expect(threats.length).toBeGreaterThan(8)
  for (const [threat, , tests = ''] of threats) {
    const names = [...tests.matchAll(/"([^"]+)"/g)].map(([, name = '']) => name)
    expect([threat, names.filter((it) => !files.includes(it)), names.length > 0]).toEqual([threat, [], true])
  }
})

test('test/faults/README.md has every fault campaign with its latest result', () => {
  const rows = tablesOf('test/faults/README.md', 'Campaigns')
  const listed = rows.map(([row = '']) => row.split(',')[0])
  const count = (row: string, all: readonly (string | undefined)[]) => all.filter((it) => it === row).length
  const all = campaigns.map(({ row }) => row)
  expect([...campaignRows].filter((row) => count(row, listed) !== count(row, all))).toEqual([])
  expect(rows.filter((cells) => cells.length !== 4 || cells.includes(''))).toEqual([])
})

test('every source or test file that a document names by its full path exists', () => {
  const documents = ['.', 'src', 'test'].flatMap((folder) =>
    readdirSync(new URL(`../${folder}/`, import.meta.url), { recursive: folder !== '.', encoding: 'utf8' })
      .filter((path) => path.endsWith('.md'))
      .map((path) => `${folder}/${path}`),
  )
  const missing = documents.flatMap((document) =>
    [...read(document).matchAll(/`((?:src|test|bin)\/[\w./-]+|\.ci\/run)`/g)]
      .filter(([, path = '']) => !exists(path))
      .map(([, path]) => `${document}: ${path}`),
  )
  expect(documents.length).toBeGreaterThan(6)
  expect(missing).toEqual([])
})
