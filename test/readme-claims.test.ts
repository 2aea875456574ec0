import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { campaigns } from './faults/campaigns/index.js'

/** Tests that every test file that a document names exists, and every campaign whose result is recorded. */

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
const exists = (path: string) => existsSync(new URL(`../${path}`, import.meta.url))

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

test('every recorded result is of a fault campaign, and has a date, a commit and figures', () => {
  const results = JSON.parse(read('test/faults/results.json')) as Readonly<Record<string, object>>
  const names = campaigns.map(({ name }) => name)
  expect(Object.keys(results).filter((it) => !names.includes(it))).toEqual([])
  const entry = {
    date: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
    commit: expect.any(String),
    figures: expect.any(String),
  }
  for (const result of Object.values(results)) expect(result).toEqual(entry)
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
