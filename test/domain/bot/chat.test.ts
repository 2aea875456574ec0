import { expect, it } from 'vitest'
import { memberChange, messageRecord, unixSeconds, voucherText } from '../../../src/domain/bot/chat.js'
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

it('a date counts whole Unix seconds', () => {
  expect([unixSeconds(1_999), unixSeconds(0)]).toEqual([1, 0])
})

it('a message shows who wrote it, and nothing of the voucher that it delivers', () => {
  const shown = { message_id: 7, date: 1, chat: { id: 'chat_1', type: 'group' }, text: 'x' }
  expect(messageRecord(message, chat)).toEqual({ ...shown, from: { id: 'bot_1', is_bot: true } })
  expect(messageRecord({ ...message, from_bot: 0 }, chat)).toEqual({ ...shown, from: { id: 'ann', is_bot: false } })
})

it('a change of the member names the user who made it and both statuses', () => {
  expect(memberChange(chat, 'member', 'kicked', 5_000)).toEqual({
    chat: { id: 'chat_1', type: 'group' },
    from: { id: 'ann', is_bot: false },
    date: 5,
    old_status: 'member',
    new_status: 'kicked',
  })
})

it('the text of a delivery fits a message, however long the name', () => {
  expect([...voucherText('🎟'.repeat(100))].length).toBeLessThanOrEqual(4096)
})
