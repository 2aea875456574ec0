import { afterAll, beforeAll, expect, test } from 'vitest'
import { otherSeed, type Reference, startReference } from '../support/conform/conform.js'
import { newRecorder, replayed } from '../support/conform/recordings.js'

let recorded: Reference
let other: Reference
beforeAll(async () => {
  recorded = await startReference()
  other = await startReference({ seed: otherSeed })
})
afterAll(async () => {
  await recorded.close()
  await other.close()
})

test('a run of probes replays without a difference on a server with other ids and tokens', async () => {
  const { recorder, text } = newRecorder(recorded)
  await recorded.run({
    // Rules without deliveries, polls and expiry.
    only: ['lists', 'unknown-members', 'credential-kinds', 'credentials', 'idempotency-keys'],
    runId: 'a1b2c3d4',
    onExchange: (it) => recorder.record(it),
    onRaw: (probe) => recorder.raw(probe),
  })
  const results = await replayed(other, text(), { pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)) })
  expect(results.filter((it) => it.result === 'differs')).toEqual([])
})
