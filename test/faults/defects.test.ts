import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { endpoints } from '../../src/contract/index.js'
import { defects } from './defects.js'

const fileOf = (path: string) => new URL(`../../${path}`, import.meta.url)

describe.each(defects.map((it, index) => [index + 1, it.name, it] as const))(
  'defect %i, %s',
  (_number, _name, { file, from, to, tests }) => {
    it('planted defect replaces a text that occurs exactly once in its source file', () => {
      expect(readFileSync(fileOf(file), 'utf8').split(from)).toHaveLength(2)
      expect(to).not.toBe(from)
    })

    it('planted defect names existing test files that must notice it', () => {
      expect(tests.length).toBeGreaterThan(0)
      expect(tests.filter((it) => !existsSync(fileOf(it)))).toEqual([])
    })
  },
)

const selecting = defects.flatMap(({ name, tests, match }) => (match === undefined ? [] : [{ name, tests, match }]))

it.each(selecting)('the tests of the planted defect "$name" have the text that selects them', ({ tests, match }) => {
  const names = [...tests.map((it) => readFileSync(fileOf(it), 'utf8')), ...endpoints.map(({ id }) => id)]
  expect(names.filter((it) => it.includes(match))).not.toEqual([])
})
