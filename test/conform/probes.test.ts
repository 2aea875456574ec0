import { afterAll, beforeAll, expect, test } from 'vitest'
import { groups } from '../../src/conform/group.js'
import { type Reference, startReference } from '../support/conform.js'

let reference: Reference
beforeAll(async () => {
  reference = await startReference()
})
afterAll(() => reference.close())

test.each(groups)('the reference follows every rule of the group %s that a probe observes', async (group) => {
  const { results } = await reference.run({ only: [group] })
  expect(results.filter((it) => it.result !== 'holds')).toEqual([])
})
