import { expect, it } from 'vitest'
import { chatRecord, memberChange, messageRecord, unixSeconds, voucherText } from '../../../src/domain/bot/chat.js'
import type { ChatRow, MessageRow } from '../../../src/domain/bot/rows.js'

const chat: ChatRow = {
  id: 'chat_1',
  bot_id: 'bot_1',
  user_id: 'ann',
  type: 'group',
  blocked: 0,
  last_message_id: 0,
  created_at: 0,
}
const message: MessageRow = {
  chat_id: 'chat_1',
  message_id: 7,
  sent_at: 1_999,
  from_bot: 1,
  text: 'x',
  application_id: 'app_1',
  voucher_id: 'vch_1',
}

it('chat dates are whole Unix seconds, rounded down', () => {
  expect([unixSeconds(1_999), unixSeconds(0)]).toEqual([1, 0])
})

it('message in a bot update names its author and omits the delivered voucher', () => {
  const shown = { message_id: 7, date: 1, chat: { id: 'chat_1', type: 'group' }, text: 'x' }
  expect(messageRecord(message, chat)).toEqual({ ...shown, from: { id: 'bot_1', is_bot: true } })
  expect(messageRecord({ ...message, from_bot: 0 }, chat)).toEqual({ ...shown, from: { id: 'ann', is_bot: false } })
})

it('chat member update names the user who changed the membership and the old and new status', () => {
  expect(memberChange(chat, 'member', 'kicked', 5_000)).toEqual({
    chat: { id: 'chat_1', type: 'group' },
    from: { id: 'ann', is_bot: false },
    date: 5,
    old_status: 'member',
    new_status: 'kicked',
  })
})

it('response for a chat has its parties, its beginning, and whether it is blocked', () => {
  const shown = { id: 'chat_1', type: 'group', bot_id: 'bot_1', user_id: 'ann', created_at: '1970-01-01T00:00:00.000Z' }
  expect(chatRecord(chat)).toEqual({ ...shown, blocked: false })
  expect(chatRecord({ ...chat, blocked: 1 })).toEqual({ ...shown, blocked: true })
})

it('text of a voucher message names the voucher', () => {
  expect(voucherText('Free coffee')).toBe('You have received a voucher: Free coffee')
})

it('text of a voucher message stays within 4,096 characters for any voucher name', () => {
  expect([...voucherText('🎟'.repeat(100))].length).toBeLessThanOrEqual(4096)
})
