import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { newToken } from '../../src/domain/application.js'
import type { RedemptionRow, VoucherRow } from '../../src/domain/voucher.js'
import * as apps from '../../src/store/apps.js'
import { inserting, run } from '../../src/store/operation.js'
import type { Store } from '../../src/store/store.js'
import * as templates from '../../src/store/templates.js'
import * as tokens from '../../src/store/tokens.js'
import { history, list, SHOWN_REDEMPTIONS_MAX } from '../../src/store/voucher-history.js'
import { plantBot } from '../support/server/webhooks.js'
import { openTestStore } from '../support/store/engines.js'
import { redeemedRow, redemptionRow, templateRow, voucherRow } from '../support/store/rows.js'
import { stepsOf, unusedParameters } from '../support/store/store-steps.js'

const NOW = 1_900

let store: Store
beforeEach(async () => {
  store = openTestStore()
  await store.write(() => apps.create('acc', 'app_1', { name: 'Shop' }, 0))
  await store.write(() => templates.create(templateRow()))
})
afterEach(() => store.close())

const plantVoucher = (row: VoucherRow) => store.write(() => inserting<VoucherRow>('vouchers')(row))
const plantRedemption = (change: Partial<RedemptionRow>) =>
  store.write(() => inserting<RedemptionRow>('redemptions')(redemptionRow(change)))
const reversed = { reversed_at: 1_600, reverse_request_id: 'req_reverse', reversed_by: 'tok_1' }
const historyOf = async (wanted: Parameters<typeof history>[0] = { id: 'vch_1' }) => {
  const found = await store.read(() => history(wanted, () => [], NOW))
  if (!found.ok) throw new Error(found.code)
  return found.data
}

describe('voucher of a history', () => {
  it('history of an unknown voucher is refused as not found', async () => {
    const refused = { ok: false, code: 'VOUCHER_NOT_FOUND' }
    expect(await store.read(() => history({ id: 'vch_2' }, () => [], NOW))).toEqual(refused)
  })

  it('voucher is found by a hash of any credential key', async () => {
    await plantVoucher(voucherRow({ qr_token_hash: 'hash of an earlier key' }))
    const hashes = ['hash of the current key', 'hash of an earlier key']
    expect((await historyOf({ type: 'qr_token', hashes })).voucher.id).toBe('vch_1')
  })
})

describe('voucher of a redemption', () => {
  it('history is found by the id of a redemption, also of a reversed one', async () => {
    await plantVoucher(redeemedRow({ redemption_id: 'rdm_2' }))
    await plantRedemption({ id: 'rdm_1', ...reversed, reversed_at: 1_500 })
    await plantRedemption({ id: 'rdm_2' })
    for (const id of ['rdm_1', 'rdm_2']) expect((await historyOf({ id })).voucher.id).toBe('vch_1')
  })
})

describe('redemptions of a history', () => {
  it('redemptions in the same millisecond are in the order of their ids', async () => {
    await plantVoucher(redeemedRow({ redemption_id: 'rdm_3' }))
    for (const id of ['rdm_2', 'rdm_1']) await plantRedemption({ id, ...reversed, reversed_at: 1_500 })
    await plantRedemption({ id: 'rdm_3' })
    expect((await historyOf()).events.map((it) => [it.type, it.redemption_id])).toEqual([
      ['issued', null],
      ['redeemed', 'rdm_1'],
      ['reversed', 'rdm_1'],
      ['redeemed', 'rdm_2'],
      ['reversed', 'rdm_2'],
      ['redeemed', 'rdm_3'],
    ])
  })

  it('history says that it has older redemptions only above the maximum of reversed ones', async () => {
    await plantVoucher(voucherRow())
    const plant = (count: number) => plantRedemption({ id: `rdm_${count}`, ...reversed })
    for (let count = 1; count <= SHOWN_REDEMPTIONS_MAX; count++) await plant(count)
    expect((await historyOf()).older_redemptions).toBe(false)
    await plant(SHOWN_REDEMPTIONS_MAX + 1)
    expect((await historyOf()).older_redemptions).toBe(true)
  })
})

describe('calls of a history', () => {
  it('issue, redemption and reversal each have the token of their caller', async () => {
    for (const name of ['issuer', 'till', 'office']) {
      const settings = { name, token: `voc_${name}`, scopes: ['vouchers:read' as const], days: null }
      await store.write(() => tokens.create('acc', newToken(`tok_${name}`, 'app_1', settings, 0), 0))
    }
    await plantVoucher(voucherRow({ issued_by: 'tok_issuer' }))
    await plantRedemption({ redeemed_by: 'tok_till', ...reversed, reversed_by: 'tok_office' })
    expect((await historyOf()).events.map((it) => [it.type, it.token_name])).toEqual([
      ['issued', 'issuer'],
      ['redeemed', 'till'],
      ['reversed', 'office'],
    ])
  })

  it('issue, redemption and reversal each have the update that they caused', async () => {
    await plantVoucher(voucherRow())
    await plantRedemption(reversed)
    await store.write(() => plantBot('bot_1'))
    for (const [index, event] of ['issue', 'redeem', 'reverse'].entries()) {
      await store.write(() =>
        run(
          `insert into updates (bot_id, update_id, type, body, created_at, pending, request_id)
           values ('bot_1', $1, 'ping', '{}', 0, 1, $2)`,
          [index + 1, `req_${event}`],
        ),
      )
    }
    const updates = (await historyOf()).events.map((it) => [it.type, it.updates.map((update) => update.update_id)])
    expect(updates).toEqual([
      ['issued', [1]],
      ['redeemed', [2]],
      ['reversed', [3]],
    ])
  })
})

it('list of all vouchers has no unused SQL parameter', async () => {
  expect(unusedParameters(await stepsOf(store, () => list({}, NOW)))).toEqual([])
})
