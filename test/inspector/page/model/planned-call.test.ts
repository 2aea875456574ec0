import { expect, test } from 'vitest'
import {
  bodyOf,
  commandLineOf,
  filled,
  type PlannedCall,
  pathOf,
  plannedRequestOf,
} from '../../../../src/inspector/page/model/planned-call.js'
import { referenceOf } from '../../../support/page/reference.js'

const redeem: PlannedCall = {
  endpoint: 'vouchers.redeem',
  input: { reference: "it's" },
  idempotencyKey: 'key-1',
  applicationId: 'app_1',
  voucherId: 'vch_1',
}

test('planned request has the idempotency key as header, and hides the credential of its voucher', () => {
  const { method, url, headers, body } = plannedRequestOf(redeem, referenceOf('vouchers.redeem'))
  expect([method, url]).toEqual(['POST', '/api/v1/open-platform/vouchers/redeem'])
  expect(headers).toContainEqual(['Idempotency-Key', 'key-1'])
  expect(JSON.parse(atob(body ?? ''))).toEqual({
    credential: { type: 'redeem_code', value: '[hidden]' },
    reference: "it's",
  })
})

test('path of a planned call escapes its parameters, and the body omits them', () => {
  const send: PlannedCall = { endpoint: 'platform.sendAsUser', input: { chatId: 'a/b', text: 'Hello', none: '' } }
  const endpoint = referenceOf(send.endpoint)
  expect(pathOf(send, endpoint)).toBe('/_platform/v1/chats/a%2Fb/messages')
  expect(bodyOf(send, endpoint)).toEqual({ text: 'Hello', none: '' })
  expect(bodyOf(filled(send), endpoint)).toEqual({ text: 'Hello' })
  const block: PlannedCall = { endpoint: 'platform.blockChat', input: { chatId: 'c' } }
  expect(plannedRequestOf(block, referenceOf(block.endpoint))).toMatchObject({ body: null })
})

test.each<[string | undefined, PlannedCall]>([
  [`printf %s "$SECRET" | voucherctl vouchers redeem - --reference 'it'\\''s' --idempotency-key key-1`, redeem],
  [
    'voucherctl vouchers issue --template tpl_1 --external-id order-1 --recipient user-1',
    {
      endpoint: 'vouchers.issue',
      input: { template_id: 'tpl_1', external_issue_id: 'order-1', recipient_user_id: 'user-1' },
    },
  ],
  ['voucherctl vouchers reverse rdm_1', { endpoint: 'vouchers.reverse', input: { redemptionId: 'rdm_1', reason: '' } }],
  [undefined, { endpoint: 'platform.showCredentials', input: { voucherId: 'vch_1' } }],
])('command line of a planned call is %s', (command, planned) => {
  expect(commandLineOf(filled(planned), referenceOf(planned.endpoint))).toBe(command)
})
