import type { Chat, Message } from '../../contract/chats.js'
import { formatInstant } from '../time.js'
import type { ChatRow, MessageRow } from './rows.js'

/** Membership of the bot in a chat, reported by `my_chat_member` (rules/bots.md#chats). */
export type MemberStatus = 'left' | 'member' | 'kicked'

/** Converts ms to Unix seconds, the unit of members named `date` (rules/calls.md#times). */
export function unixSeconds(ms: number): number {
  return Math.floor(ms / 1000)
}

function userParty(userId: string): Message['from'] {
  return { id: userId, is_bot: false }
}

export function chatRecord(row: ChatRow): Chat {
  return {
    id: row.id,
    type: row.type,
    bot_id: row.bot_id,
    user_id: row.user_id,
    blocked: row.blocked === 1,
    created_at: formatInstant(row.created_at),
  }
}

export function messageRecord(row: MessageRow, chat: ChatRow): Message {
  return {
    message_id: row.message_id,
    date: unixSeconds(row.sent_at),
    chat: { id: chat.id, type: chat.type },
    from: row.from_bot === 1 ? { id: chat.bot_id, is_bot: true } : userParty(chat.user_id),
    text: row.text,
  }
}

/** Payload of my_chat_member: the user started, blocked or unblocked the bot. */
export function memberChange(chat: ChatRow, from: MemberStatus, to: MemberStatus, now: number): object {
  return {
    chat: { id: chat.id, type: chat.type },
    from: userParty(chat.user_id),
    date: unixSeconds(now),
    old_status: from,
    new_status: to,
  }
}

/** Text of the message that delivers a voucher. */
export function voucherText(voucherName: string): string {
  return `You have received a voucher: ${voucherName}`
}
