import { afterAll, beforeAll, expect, test } from 'vitest'
import { otherSeed, type Reference, startReference } from '../support/conform.js'
import { newRecorder, replayed } from '../support/recordings.js'

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

test('a run of most probes replays without a difference on a server with other ids and tokens', async () => {
  const { recorder, text } = newRecorder(recorded)
  await recorded.run({
    // The others wait for deliveries or are encrypted, which a recording does not hold.
    only: ['calls', 'callers', 'vouchers', 'bots'],
    runId: 'a1b2c3d4',
    onExchange: (it) => recorder.record(it),
    onRaw: (probe) => recorder.raw(probe),
  })
  const results = await replayed(other, text(), { pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)) })
  expect(results.filter((it) => it.result === 'differs')).toEqual([])
})
