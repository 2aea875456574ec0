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
  as: { kind: 'application', id: 'app_1' },
  voucherId: 'vch_1',
}

test('planned request has the idempotency key as header, and hides the credential of its voucher', () => {
  const { method, url, headers, body } = plannedRequestOf(redeem, referenceOf('vouchers.redeem'))
  expect([method, url]).toEqual(['POST', '/api/v1/open-platform/vouchers/redeem'])
  expect(headers).toContainEqual(['idempotency-key', 'key-1'])
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
  expect(pathOf({ endpoint: 'platform.sendAsUser', input: { chatId: '..' } }, endpoint)).toBe(endpoint.path)
  const block: PlannedCall = { endpoint: 'platform.blockChat', input: { chatId: 'c' } }
  expect(plannedRequestOf(block, referenceOf(block.endpoint))).toMatchObject({ body: null })
})

test('planned read has its members in the query', () => {
  const list: PlannedCall = { endpoint: 'webhook.deliveries', input: { botId: 'bot_1', limit: 5, status: 'dead' } }
  const { url, body } = plannedRequestOf(list, referenceOf(list.endpoint))
  expect([url.split('?')[1], body]).toEqual(['limit=5&status=dead', null])
})

test('planned request hides what the contract marks as secret, and codes in any text', () => {
  const set: PlannedCall = {
    endpoint: 'webhook.set',
    input: {
      botId: 'bot_1',
      url: 'https://app.example/a',
      secret_token: 'secret',
      allowed_updates: ['M9S3-46Q3-D25V-T4FJ'],
    },
  }
  const { body } = plannedRequestOf(set, referenceOf(set.endpoint))
  const hidden = { url: '[hidden]', secret_token: '[hidden]', allowed_updates: ['[hidden]'] }
  expect(JSON.parse(atob(body ?? ''))).toEqual(hidden)
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
  [
    undefined,
    {
      endpoint: 'vouchers.issue',
      input: { template_id: 'tpl_1', external_issue_id: 'order-1', recipient_user_id: 'user-1', metadata: { a: 'b' } },
    },
  ],
  [undefined, { endpoint: 'platform.showCredentials', input: { voucherId: 'vch_1' } }],
])('command line of a planned call is %s', (command, planned) => {
  expect(commandLineOf(filled(planned), referenceOf(planned.endpoint))).toBe(command)
})
