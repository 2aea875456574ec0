import { expect, test } from 'vitest'
import { filterOf } from '../../../../src/inspector/page/model/filter.js'
import { deliveryEntry, requestEntry } from './activity-samples.js'

const entries = {
  redeemed: requestEntry(),
  refused: requestEntry({ request_id: 'req_2', status: 409, code: 'VOUCHER_EXPIRED', voucher_id: 'vch_2' }),
  broken: requestEntry({ endpoint: 'apps.list', status: 503, code: 'SERVICE_UNAVAILABLE', application_id: null }),
  delivered: deliveryEntry(),
  lost: deliveryEntry({ status: null, error: { code: 'TIMEOUT', message: 'No response.' } }),
  repeated: deliveryEntry({ update_type: 'voucher_issued', verdict: 'duplicate' }),
}

test.each([
  ['', ['redeemed', 'refused', 'broken', 'delivered', 'lost', 'repeated']],
  ['type=requests', ['redeemed', 'refused', 'broken']],
  ['type=deliveries', ['delivered', 'lost', 'repeated']],
  ['type=vouchers.redeem', ['redeemed', 'refused']],
  ['type=voucher_issued', ['repeated']],
  ['status=ok', ['redeemed', 'delivered', 'repeated']],
  ['status=failed', ['refused', 'broken', 'lost']],
  ['status=4xx', ['refused']],
  ['status=503', ['broken']],
  ['status=none', ['lost']],
  ['status=TIMEOUT', ['lost']],
  ['application=app_shop', ['redeemed', 'refused']],
  ['application=bot_shop', ['delivered', 'lost', 'repeated']],
  ['voucher=vch_2', ['refused']],
  ['type=vouchers.redeem&status=ok&voucher=vch_1', ['redeemed']],
  ['find=expired', ['refused']],
  ['find=VCH_1+post', ['redeemed', 'broken']],
  ['find=%28', []],
])('filter of the query %j passes %j', (query, expected) => {
  const passes = filterOf(new URLSearchParams(query))
  const found = Object.entries(entries).filter(([, entry]) => passes(entry))
  expect(found.map(([name]) => name)).toEqual(expected)
})
