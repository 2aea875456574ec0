import { expect, test } from 'vitest'
import { useReference } from '../support/conform/conform.js'

const reference = useReference({ rateLimit: true })

test('the reference follows the rules through the encrypted transport too', async () => {
  const { results } = await reference.run({ encrypted: true })
  const others = results.filter(({ result }) => result !== 'holds' && result !== 'not_applicable')
  expect(others).toEqual([])
  expect(results.filter(({ result }) => result === 'holds').length).toBeGreaterThan(results.length * 0.8)
})
