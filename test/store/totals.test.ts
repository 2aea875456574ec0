import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { newId } from '../../src/domain/ids.js'
import { PROCESS_CLOCK_SKEW_MS_MAX } from '../../src/domain/time.js'
import type { RedemptionRow, VoucherRow } from '../../src/domain/voucher.js'
import * as apps from '../../src/store/apps.js'
import { inserting, type Op } from '../../src/store/operation.js'
import type { Store } from '../../src/store/store.js'
import { totals } from '../../src/store/totals.js'
import { seededRandom } from '../support/server/app.js'
import { openTestStore } from '../support/store/engines.js'
import { redemptionRow, voucherRow } from '../support/store/rows.js'

const START_MS = Date.UTC(2027, 2, 1, 12)
const request = { from: START_MS, until: START_MS + 100, buckets: 7 }
const random = seededRandom('totals')

let store: Store
beforeEach(async () => {
  store = openTestStore()
  await store.write(() => apps.create('acc', 'app_1', { name: 'Shop' }, 0))
})
afterEach(() => store.close())

const issue = (...times: number[]) =>
  store.write(function* (): Op<void> {
    for (const issuedAt of times) {
      const id = newId('vch', issuedAt, random)
      const credentials = { redeem_code_hash: id, qr_token_hash: id }
      yield* inserting<VoucherRow>('vouchers')(
        voucherRow({ id, external_issue_id: id, ...credentials, issued_at: issuedAt }),
      )
    }
  })
const redeem = (...redemptions: { readonly calledAt: number; readonly redeemedAt: number }[]) =>
  store.write(function* (): Op<void> {
    for (const { calledAt, redeemedAt } of redemptions) {
      const id = newId('rdm', calledAt, random)
      yield* inserting<RedemptionRow>('redemptions')(redemptionRow({ id, voucher_id: id, redeemed_at: redeemedAt }))
    }
  })
const read = (change: Partial<typeof request> = {}, maximum?: number) =>
  store.read(() => totals({ ...request, ...change }, maximum))

it('totals put each event into its period if the periods have no whole number of milliseconds', async () => {
  const times = Array.from({ length: 120 }, (_, index) => START_MS - 5 + index)
  await issue(...times)
  await redeem(...times.map((time) => ({ calledAt: time, redeemedAt: time })))
  const { items } = await read()
  const ends = [...items.slice(1).map((it) => Date.parse(it.from)), request.until]
  const expected = items.map(({ from }, index) => {
    const count = times.filter((it) => it >= Date.parse(from) && it < (ends[index] as number)).length
    return { from, issued: count, redeemed: count }
  })
  expect(items).toEqual(expected)
  expect(items.reduce((sum, it) => sum + it.issued, 0)).toBe(100)
})

it('totals count a redemption whose call time differs by at most the clock skew', async () => {
  const { from, until } = request
  await redeem(
    { calledAt: from - PROCESS_CLOCK_SKEW_MS_MAX - 1, redeemedAt: from },
    { calledAt: from - PROCESS_CLOCK_SKEW_MS_MAX, redeemedAt: from },
    { calledAt: until + PROCESS_CLOCK_SKEW_MS_MAX - 1, redeemedAt: until - 1 },
    { calledAt: until + PROCESS_CLOCK_SKEW_MS_MAX, redeemedAt: until - 1 },
  )
  expect((await read({ buckets: 2 })).items.map((it) => it.redeemed)).toEqual([1, 1])
})

it('totals of a period that begins within the clock skew after 1970 count its redemptions', async () => {
  await redeem({ calledAt: 0, redeemedAt: 1 })
  expect((await read({ from: 0, until: 2, buckets: 1 })).items.map((it) => it.redeemed)).toEqual([1])
})

describe('maximum of rows that totals count', () => {
  const at = (redeemedAt: number) => ({ calledAt: redeemedAt, redeemedAt })

  it('totals up to the maximum of rows in each period are complete', { tags: 'lists/5' }, async () => {
    await issue(START_MS, START_MS + 1, START_MS + 99)
    await redeem(at(START_MS), at(START_MS + 1))
    expect((await read({}, 2)).complete).toBe(true)
  })

  it('totals of more vouchers than the maximum are low and not complete', { tags: 'lists/5' }, async () => {
    await issue(START_MS, START_MS + 97, START_MS + 98, START_MS + 99)
    await redeem(at(START_MS))
    const { items, complete } = await read({ buckets: 2 }, 1)
    expect([complete, items.map((it) => it.issued)]).toEqual([false, [1, 2]])
  })

  it('totals of a template are not complete if a period has more vouchers of all templates', async () => {
    await issue(START_MS, START_MS + 1)
    const templateId = 'tpl_unknown'
    const count = (maximum: number) => store.read(() => totals({ ...request, buckets: 1, templateId }, maximum))
    expect(await count(2)).toMatchObject({ complete: true, items: [{ issued: 0 }] })
    expect(await count(1)).toMatchObject({ complete: false, items: [{ issued: 0 }] })
  })

  it('totals of more redemptions than the maximum are not complete', { tags: 'lists/5' }, async () => {
    await redeem(at(START_MS), at(START_MS + 1))
    expect((await read({}, 1)).complete).toBe(false)
  })
})
