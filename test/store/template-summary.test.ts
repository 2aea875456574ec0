import { afterEach, beforeEach, expect, it } from 'vitest'
import { templateBody } from '../../src/contract/openapi/template-body.js'
import type { TemplateSummary } from '../../src/domain/template.js'
import type { Store } from '../../src/store/store.js'
import { templateSummary } from '../../src/store/template-summary.js'
import * as templates from '../../src/store/templates.js'
import { openTestStore } from '../support/store/engines.js'
import { templateRow } from '../support/store/rows.js'
import { stepsOf } from '../support/store/store-steps.js'

let store: Store
beforeEach(async () => {
  store = openTestStore()
  await store.write(() => templates.create(templateRow()))
})
afterEach(() => store.close())

const { acquisition_source: _, validity: __, issue_limit: ___, ...summary } = templateBody
const summariesOf = (count: number): Map<string, TemplateSummary> =>
  new Map(Array.from({ length: count }, (_, index) => [`tpl_other_${index}`, summary]))

it('summary of a template is read once and then taken from the cache', async () => {
  const summaries = new Map()
  const read = () => templateSummary(summaries, 'app_1', 'tpl_1')
  expect(await stepsOf(store, read)).toHaveLength(1)
  expect(await stepsOf(store, read)).toEqual([])
  expect(await store.read(read)).toEqual(summary)
})

it('cache of template summaries holds at most 10,000', async () => {
  const [full, free] = [summariesOf(10_000), summariesOf(9_999)]
  for (const summaries of [full, free]) await store.read(() => templateSummary(summaries, 'app_1', 'tpl_1'))
  expect([full.size, free.size]).toEqual([1, 10_000])
})
