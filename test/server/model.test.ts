import fc from 'fast-check'
import { expect, it, onTestFinished } from 'vitest'
import { isRest } from '../support/extent.js'
import { testApp } from '../support/server/app.js'
import { onPostgres } from '../support/store/engine-name.js'
import { openTestStore } from '../support/store/engines.js'
import { audit } from '../support/store/voucher-audit.js'
import { commands, setUp } from '../support/store/voucher-steps.js'

/** `VOUCHERCTL_MODEL=5000x50` runs 5,000 sequences of up to 50 commands; `VOUCHERCTL_SEED` repeats a run. */
/** Default number of sequences: fewer on PostgreSQL, where each command takes several round trips. */
const usual = onPostgres ? 4 : isRest ? 40 : 20
const [runs = usual, most = 20] = (process.env.VOUCHERCTL_MODEL ?? '').split('x').filter(Boolean).map(Number)
const seed = Number(process.env.VOUCHERCTL_SEED ?? (isRest ? 3 : 1))

it(`server matches the model in ${runs} sequences of up to ${most} commands (seed ${seed})`, {
  tags: ['redemptions/1', 'reversal/1', 'verify/1', 'idempotency-keys/1', 'issue/2'],
  timeout: Math.max(120_000, runs * most * 50),
}, async () => {
  const store = openTestStore()
  onTestFinished(() => store.close())
  let taken = 0
  await fc.assert(
    fc.asyncProperty(commands(most), async (sequence) => {
      const server = testApp({ store })
      try {
        const { model, real } = await setUp(server)
        await fc.asyncModelRun(() => ({ model, real }), sequence)
        await audit(model, real)
        expect(server.errors).toEqual([])
        taken += model.vouchers.length + model.redemptions.length
      } finally {
        await server.close()
      }
    }),
    { numRuns: runs, seed },
  )
  // Sequences in which the server refuses almost every command would prove little.
  expect(taken).toBeGreaterThan(runs)
})
