import { expect, test } from 'vitest'
import type { Fault } from '../../src/contract/platform/controls.js'
import { faultSentence } from '../../src/contract/platform/fault-sentence.js'

const fault: Fault = {
  id: 'flt_1',
  endpoint: 'vouchers.redeem',
  kind: 'drop_response',
  times: null,
  left: null,
  delay_ms: null,
  share: 0.05,
}

test.each<[string, Partial<Fault>]>([
  ['5 % of the calls of vouchers.redeem lose their response.', {}],
  ['0.1 % of the calls of vouchers.redeem fail with 503.', { kind: 'error', share: 0.001 }],
  [
    'The next 3 calls of vouchers.redeem will be delayed by 1000 ms.',
    { kind: 'delay', delay_ms: 1000, share: null, times: 3, left: 3 },
  ],
  ['7 % of the calls of vouchers.redeem fail with 503 after 20 ms.', { kind: 'error', delay_ms: 20, share: 0.07 }],
  [
    'The matching calls of vouchers.redeem from number 2 on fail with 409, at most 1 time.',
    { kind: 'status', status: 409, share: null, nth: 2, left: 1, match: {} },
  ],
  [
    'The next call of vouchers.redeem will be held before the work.',
    { kind: 'hold', at: 'before', share: null, left: 1 },
  ],
  [
    'The next 2 calls of vouchers.redeem will be held before the idempotency check.',
    { kind: 'hold', at: 'received', share: null, left: 2 },
  ],
  ['The next call of vouchers.redeem will hang without effect.', { kind: 'hang', share: null, left: 1 }],
  [
    'The next matching delivery will arrive after the next of its chat.',
    { endpoint: 'deliveries', kind: 'late', share: null, left: 1, match: {} },
  ],
  ['All deliveries will have a wrong signature.', { endpoint: 'deliveries', kind: 'forged', share: null }],
])('a fault is described: %s', (sentence, members) => {
  expect(faultSentence({ ...fault, ...members })).toBe(sentence)
})
