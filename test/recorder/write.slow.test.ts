import { expect, it } from 'vitest'
import * as yaml from 'yaml'
import { scenarioText } from '../../src/recorder/write.js'

it('a recording ends with a comment at 16 MiB, and counts its steps', { tags: 'bounded-reads/1' }, async () => {
  const step = { members: { call: 'GET /x', with: { text: 'a'.repeat(9 * 1024 * 1024) } }, capture: {}, use: {} }
  const steps = ['first', 'second', 'third'].map((it) => ({ ...step, comments: [it] }))
  const draft = { autoApprove: false, respond: undefined, steps, comments: [] } as never
  const { parts, steps: written, remarks } = await scenarioText('Long', draft, yaml, (items) => items)
  const text = parts.join('')
  const last = 'The recording was too long: steps missing at its end: 1.'
  expect([written, remarks]).toEqual([2, ['first', 'second', last]])
  expect(text.endsWith(`\n# ${last}\n`)).toBe(true)
})
