import { expect, test } from 'vitest'
import { entryOf } from '../../../../src/inspector/page/model/activity-log.js'
import { stepsOf, stepTitle } from '../../../../src/inspector/page/model/chat-path.js'
import { deliveryLine, exchangeOf, requestLine } from './activity-samples.js'

const scope = { chat: 'chat_1', bot: 'bot_shop', vouchers: ['vch_1'] }
const ofChat = exchangeOf('{"chat_id":"chat_1"}')

const request = (request_id: string, endpoint: string, exchange = ofChat) =>
  entryOf(requestLine({ request_id, endpoint, voucher_id: null }, exchange))

test('chat shows its calls, its updates and the updates of its vouchers, newest first', () => {
  const entries = [
    request('req_1', 'platform.sendAsUser'),
    request('req_2', 'platform.messages'),
    request('req_3', 'bots.send', exchangeOf('{"chat_id":"chat_2"}')),
    entryOf(deliveryLine({ delivery_id: 'dlv_1' })),
    entryOf(deliveryLine({ delivery_id: 'dlv_2', bot_id: 'bot_other' })),
    entryOf(deliveryLine({ delivery_id: 'dlv_3', voucher_id: null })),
    entryOf({ ...deliveryLine({ delivery_id: 'dlv_4', voucher_id: null }), exchange: ofChat }),
    request('req_4', 'bots.send'),
  ]
  expect(stepsOf(entries, scope).map(({ id }) => id)).toEqual(['req_4', 'dlv_4', 'dlv_1', 'req_1'])
})

test('title of a step names the call, or the update and which attempt it is', () => {
  expect(stepTitle(request('req_1', 'bots.send'))).toBe('bots.send')
  expect(stepTitle(entryOf(deliveryLine({ attempt: 2 })))).toBe('Update 7 voucher_redeemed, attempt 2')
  expect(stepTitle(entryOf(deliveryLine({ replay: true })))).toBe('Update 7 voucher_redeemed, replay')
})
