import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Reference, startReference } from '../support/conform/conform.js'

let reference: Reference
beforeAll(async () => {
  reference = await startReference({ rateLimit: true })
})
afterAll(() => reference.close())

test('the reference follows the rules through the encrypted transport too', async () => {
  const { results } = await reference.run({ encrypted: true })
  const others = results.filter(({ result }) => result !== 'holds' && result !== 'not_applicable')
  expect(others).toEqual([])
  expect(results.filter(({ result }) => result === 'holds').length).toBeGreaterThan(results.length * 0.8)
})
