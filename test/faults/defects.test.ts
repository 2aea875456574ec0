import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { defects } from './defects.js'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const readme = read('test/faults/README.md')

describe.each(defects.map((it, index) => [index + 1, it.name, it] as const))(
  'defect %i, %s',
  (number, name, { file, from, to, tests }) => {
    it('can be planted: its text stands in its file exactly once, and what replaces it is another', () => {
      expect(read(file).split(from)).toHaveLength(2)
      expect(to).not.toBe(from)
      expect(tests.filter((it) => !existsSync(new URL(`../../${it}`, import.meta.url)))).toEqual([])
    })

    it('is in the README, with the test that caught it', () => {
      const row = readme.split('\n').find((line) => line.startsWith(`| ${number} | ${name} |`))
      expect(tests.some((it) => row?.includes(it.replace(/^test\//, '')))).toBe(true)
    })
  },
)
