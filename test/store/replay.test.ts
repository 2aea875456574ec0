import { describe, expect, it } from 'vitest'
import type { Store } from '../../src/store/store.js'
import { beforeEachStore, voucherEngines } from '../support/store/engines.js'
import { Ledger } from '../support/store/ledger.js'

const NOW = Date.UTC(2027, 2, 1)
const METADATA = { till: '1', shift: 'early' }

/** Returns the result if it is a success, otherwise fails the test. */
function succeeded<Outcome extends { ok: boolean }>(outcome: Outcome): Extract<Outcome, { ok: true }> {
  if (!outcome.ok) throw new Error(JSON.stringify(outcome))
  return outcome as Extract<Outcome, { ok: true }>
}

describe.each(voucherEngines)('replays on $name', ({ create }) => {
  let store: Store
  beforeEachStore(create, (fresh) => {
    store = fresh
  })

  it('replay of an issue returns the voucher as issued, even after its redemption', async () => {
    const ledger = await new Ledger(store).open()
    const idempotencyKey = ledger.idempotencyKey('I')
    const first = succeeded(await ledger.issue('order-1', NOW, { idempotencyKey, metadata: METADATA }))
    succeeded(await ledger.redeem(first.data, NOW + 1))
    expect(await ledger.issue('order-1', NOW + 2, { idempotencyKey, metadata: METADATA })).toEqual({
      ...first,
      replayed: true,
    })
  })

  it('replay of an issue that found an existing voucher returns the voucher as first returned', async () => {
    const ledger = await new Ledger(store).open()
    const issued = succeeded(await ledger.issue('order-1', NOW))
    const redeemed = succeeded(await ledger.redeem(issued.data, NOW + 1))
    const idempotencyKey = ledger.idempotencyKey('I2')
    const met = succeeded(await ledger.issue('order-1', NOW + 2, { idempotencyKey }))
    expect(met).toMatchObject({ status: 200, replayed: true, data: { status: 'redeemed' } })
    succeeded(await ledger.reverse(redeemed.data.id, NOW + 3))
    expect(await ledger.issue('order-1', NOW + 4, { idempotencyKey })).toEqual(met)
  })

  it.each([METADATA, {}])(
    'replay of a redeem with metadata %j returns its success even after a reversal',
    async (metadata) => {
      const ledger = await new Ledger(store).open()
      const issued = succeeded(await ledger.issue('order-1', NOW))
      const call = { idempotencyKey: ledger.idempotencyKey('R'), metadata, reference: 'receipt-1' }
      const first = succeeded(await ledger.redeem(issued.data, NOW + 1, call))
      const reversal = { reason: 'mistake', metadata: { by: 'ann' } }
      succeeded(await ledger.reverse(first.data.id, NOW + 2, reversal))
      succeeded(await ledger.redeem(issued.data, NOW + 3))
      expect(await ledger.redeem(issued.data, NOW + 4, call)).toEqual({ ...first, replayed: true })
    },
  )

  it('replay of a reversal returns its success even after the next redemption', async () => {
    const ledger = await new Ledger(store).open()
    const issued = succeeded(await ledger.issue('order-1', NOW))
    const redeemed = succeeded(await ledger.redeem(issued.data, NOW + 1))
    const call = { idempotencyKey: ledger.idempotencyKey('V'), metadata: METADATA }
    const first = succeeded(await ledger.reverse(redeemed.data.id, NOW + 2, call))
    succeeded(await ledger.redeem(issued.data, NOW + 3))
    expect(await ledger.reverse(redeemed.data.id, NOW + 4, call)).toEqual({ ...first, replayed: true })
  })
})
