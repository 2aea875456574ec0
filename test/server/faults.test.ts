import process from 'node:process'
import { expect, it } from 'vitest'
import { Faults } from '../../src/server/faults.js'

it('any number of calls is delayed at once, without a warning of Node in the log', async () => {
  const warnings: Error[] = []
  const note = (it: Error) => warnings.push(it)
  process.on('warning', note)
  const faults = new Faults()
  await Promise.all(Array.from({ length: 20 }, () => faults.delay(1)))
  process.off('warning', note)
  expect(warnings).toEqual([])
})
