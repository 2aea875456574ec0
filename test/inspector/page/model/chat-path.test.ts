import { expect, test } from 'vitest'
import { entryOf } from '../../../../src/inspector/page/model/activity-log.js'
import type { AxisRow } from '../../../../src/inspector/page/model/axis.js'
import { chatRows, stepsOf } from '../../../../src/inspector/page/model/chat-path.js'
import type { Update } from '../../../../src/inspector/page/model/delivery-rows.js'
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

const titlesOf = (rows: readonly AxisRow[]) => rows.map((row) => row.map((it) => it.title))

test('update of a chat follows the call that caused it, before the response of the receiver', () => {
  const ping = entryOf({ ...deliveryLine({ update_type: 'message' }), exchange: ofChat })
  const steps = [ping, request('req_2', 'bots.send'), request('req_1', 'platform.sendAsUser')]
  const stored = { id: 'dlv_1', update_id: 7, update_type: 'message', created_at: '2026-11-21T10:00:00.500Z' }
  const waiting = { ...stored, status: 'failed', attempts: [], next_attempt_at: '2026-11-21T10:01:00.000Z' } as const
  const rows = chatRows(steps, [waiting as unknown as Update])
  expect(titlesOf(rows)).toEqual([
    ['platform.sendAsUser', 'Update 7 message', 'Accepted'],
    ['Update 7, next attempt'],
    ['bots.send'],
  ])
  expect(rows[0]?.map((it) => it.messages?.map(({ title }) => title))).toEqual([
    ['Request', 'Response'],
    ['Update'],
    ['Response'],
  ])
})

test('update that only the log has is shown with its response', () => {
  const rows = chatRows([entryOf(deliveryLine({ status: 401 }))], [])
  expect(titlesOf(rows)).toEqual([['Update 7 voucher_redeemed', 'Refused']])
})

test('update that was created seconds after a call does not follow it', () => {
  const updateAt = (update_id: number, created_at: string) =>
    ({
      id: `dlv_${update_id}`,
      update_id,
      update_type: 'message',
      created_at,
      attempts: [],
      next_attempt_at: null,
    }) as unknown as Update
  const first = request('req_1', 'platform.sendAsUser')
  const updates = [updateAt(1, first.at), updateAt(2, '2026-11-21T10:00:05.000Z')]
  expect(titlesOf(chatRows([first], updates))).toEqual([
    ['platform.sendAsUser', 'Update 1 message'],
    ['Update 2 message'],
  ])
})
