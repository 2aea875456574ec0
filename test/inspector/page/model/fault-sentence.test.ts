import { expect, test } from 'vitest'
import type { Fault } from '../../../../src/contract/platform/controls.js'
import { faultSentence } from '../../../../src/inspector/page/model/fault-sentence.js'

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
  ['5 % of the calls of vouchers.redeem lose their response', {}],
  ['0.1 % of the calls of vouchers.redeem fail with 503', { kind: 'error', share: 0.001 }],
  [
    'Calls of vouchers.redeem are delayed by 1,000 ms, 3 more',
    { kind: 'delay', delay_ms: 1000, share: null, times: 3, left: 3 },
  ],
  ['7 % of the calls of vouchers.redeem fail with 503 after 20 ms', { kind: 'error', delay_ms: 20, share: 0.07 }],
])('a fault is described: %s', (sentence, members) => {
  expect(faultSentence({ ...fault, ...members })).toBe(sentence)
})
