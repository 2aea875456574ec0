import { describe, expect, it } from 'vitest'
import { eventsOf, type LoggedCall } from '../../src/domain/voucher-history.js'
import { redeemedRow, redemptionRow, voucherRow } from '../support/store/rows.js'

type Life = Parameters<typeof eventsOf>[0]

const token = { id: 'tok_1', name: 'till', token_prefix: 'sop_abcd' }
const lifeOf = (life: Partial<Life> = {}): Life => ({
  voucher: voucherRow(),
  redemptions: [],
  logged: [],
  tokens: [token],
  message: null,
  updates: new Map(),
  ...life,
})
const at = (ms: number) => new Date(ms).toISOString()
const typesOf = (life: Partial<Life>, now: number) => eventsOf(lifeOf(life), now).map((it) => [it.type, it.at])

const nothing = {
  token_id: null,
  token_name: null,
  token_prefix: null,
  by_operator: false,
  bot_id: null,
  redemption_id: null,
  reference: null,
  reason: null,
  message: null,
  updates: [],
}
const byToken = { token_id: 'tok_1', token_name: 'till', token_prefix: 'sop_abcd' }
const update = [{ bot_id: 'bot_1', update_id: 1, type: 'voucher_issued' as const, pending: true, delivery: null }]

describe('events of a voucher', () => {
  it('issue by an application has its call, its token and the updates that it caused', () =>
    expect(eventsOf(lifeOf({ updates: new Map([['req_issue', update]]) }), 600)).toEqual([
      {
        ...nothing,
        ...byToken,
        type: 'issued',
        at: at(500),
        stored: true,
        endpoint: 'vouchers.issue',
        request_id: 'req_issue',
        idempotency_key: 'issue-1',
        updates: update,
      },
    ]))

  it('issue by a bot has the bot, the prefix of its token and the message', () => {
    const voucher = voucherRow({ channel: 'bot', bot_id: 'bot_1', issued_by: 'sbot_abc' })
    const message = { chat_id: 'chat_1', message_id: 7 }
    expect(eventsOf(lifeOf({ voucher, message }), 600)[0]).toMatchObject({
      endpoint: 'bots.issue',
      bot_id: 'bot_1',
      token_id: null,
      token_name: null,
      token_prefix: 'sbot_abc',
      message,
    })
  })

  it('redemption and reversal have their own calls, reference and reason', () => {
    const reversed = redemptionRow({
      reference: 'order-7',
      reversed_at: 1_600,
      reversal_reason: 'wrong till',
      reverse_request_id: 'req_reverse',
      reverse_idempotency_key: 'reverse-1',
      reversed_by: 'tok_1',
    })
    expect(eventsOf(lifeOf({ redemptions: [reversed] }), 1_700).slice(1)).toEqual([
      {
        ...nothing,
        ...byToken,
        type: 'redeemed',
        at: at(1_500),
        stored: true,
        endpoint: 'vouchers.redeem',
        request_id: 'req_redeem',
        idempotency_key: 'redeem-1',
        redemption_id: 'rdm_1',
        reference: 'order-7',
      },
      {
        ...nothing,
        ...byToken,
        type: 'reversed',
        at: at(1_600),
        stored: true,
        endpoint: 'vouchers.reverse',
        request_id: 'req_reverse',
        idempotency_key: 'reverse-1',
        redemption_id: 'rdm_1',
        reason: 'wrong till',
      },
    ])
  })

  it('logged call is marked as not stored and takes its place by time', () => {
    const verified: LoggedCall = {
      type: 'verified',
      at: at(1_400),
      endpoint: 'vouchers.verify',
      requestId: 'req_verify',
      idempotencyKey: 'verify-1',
      calledBy: 'tok_1',
      botId: 'bot_1',
      reason: 'recipient_mismatch',
    }
    const events = eventsOf(lifeOf({ logged: [verified], redemptions: [redemptionRow()] }), 1_700)
    expect(events.map((it) => it.type)).toEqual(['issued', 'verified', 'redeemed'])
    expect(events[1]).toEqual({
      ...nothing,
      ...byToken,
      type: 'verified',
      at: at(1_400),
      stored: false,
      endpoint: 'vouchers.verify',
      request_id: 'req_verify',
      idempotency_key: 'verify-1',
      bot_id: 'bot_1',
      reason: 'recipient_mismatch',
    })
  })

  it('later event in the list sorts before an earlier one only by its time', () => {
    const logged = (ms: number): LoggedCall => ({
      ...{ type: 'verified', at: at(ms), endpoint: null, requestId: `req_${ms}`, idempotencyKey: null },
      ...{ calledBy: 'tok_1', botId: null, reason: null },
    })
    const requests = (...times: number[]) =>
      eventsOf(lifeOf({ logged: times.map(logged) }), 900).map((it) => it.request_id)
    expect(requests(800, 600, 400)).toEqual(['req_400', 'req_issue', 'req_600', 'req_800'])
    expect(requests(500)).toEqual(['req_issue', 'req_500'])
  })
})

describe('expiry of a voucher', () => {
  it('unredeemed voucher expires at valid_until, not a millisecond earlier', () => {
    expect(typesOf({}, 1_999)).toEqual([['issued', at(500)]])
    expect(typesOf({}, 2_000)).toEqual([
      ['issued', at(500)],
      ['expired', at(2_000)],
    ])
    expect(eventsOf(lifeOf(), 2_000)[1]).toEqual({
      ...nothing,
      type: 'expired',
      at: at(2_000),
      stored: true,
      endpoint: null,
      request_id: null,
      idempotency_key: null,
    })
  })

  it('redeemed voucher has no expiry', () =>
    expect(typesOf({ voucher: redeemedRow(), redemptions: [redemptionRow()] }, 9_000)).toHaveLength(2))

  it('voucher whose redemption was reversed after valid_until expires at the reversal', () => {
    const reversed = { reverse_request_id: 'r', reversed_by: 'tok_1' }
    const redemptions = [
      redemptionRow({ ...reversed, reversed_at: 3_000 }),
      redemptionRow({ ...reversed, reversed_at: 1_600 }),
    ]
    expect(typesOf({ redemptions }, 4_000).at(-1)).toEqual(['expired', at(3_000)])
    expect(typesOf({ redemptions: redemptions.slice(1) }, 4_000).at(-1)).toEqual(['expired', at(2_000)])
  })
})
