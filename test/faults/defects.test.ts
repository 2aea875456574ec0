import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { campaigns } from './campaigns/index.js'
import { defects } from './defects.js'

it.each(defects)('planted defect "$name" of a campaign replaces a text that its file has once', (defect) => {
  const source = readFileSync(new URL(`../../${defect.file}`, import.meta.url), 'utf8')
  expect(source.split(defect.from)).toHaveLength(2)
  expect(defect.to).not.toBe(defect.from)
  expect(campaigns.map(({ row }) => row)).toContain(defect.row)
})
