import type { Chat, TranscriptMessage } from '../../../contract/chats.js'
import { platform as contract } from '../../../contract/platform/platform.js'
import { callLeaf, type Group } from '../../command/leaf.js'
import { listLeaf } from '../../command/paging.js'
import { suggested } from '../../failures/failure.js'
import { member, required } from '../../flags/flags.js'
import type { View } from '../../output/outcome.js'
import type { Times } from '../../output/screen.js'
import { isList } from '../../output/select-fields.js'
import { plainLine, timeInList } from '../../output/text.js'

const chatMembers = ['id', 'type', 'bot_id', 'user_id', 'blocked', 'created_at']
const view = (done: (chat: Chat) => string): View<Chat> => ({ headline: done, members: chatMembers })

/** Commands that act as users, because a local server has no real ones. */
export const platformUsers: Group = {
  name: 'users',
  alias: 'user',
  summary: 'Act as a user: start a chat, send a message, block the bot',
  commands: [
    callLeaf({
      name: 'start',
      endpoint: contract.createChat,
      flags: {
        bot: required(member('Bot, bot_…', 'ID'), 'Bot id'),
        user: required(member('The user', 'ID'), 'User id'),
        type: member('Default private'),
      },
      examples: ['voucherctl platform users start --bot bot_01JC… --user user-42'],
      view: {
        ...view((chat) => `${chat.user_id} has chat ${chat.id} with the bot.`),
        next: (chat) => `Next: ${suggested`platform users send ${chat.id} --text Hello`}`,
      },
    }),
    callLeaf({
      name: 'send',
      endpoint: contract.sendAsUser,
      flags: { text: required(member('At most 4096 characters; may have several lines', 'TEXT'), 'Text') },
      examples: ['voucherctl platform users send chat_01JC… --text Hello'],
      view: { headline: (it) => `Sent message ${it.message_id} as ${it.from.id}.`, members: [] },
    }),
    callLeaf({
      name: 'block',
      endpoint: contract.blockChat,
      examples: ['voucherctl platform users block chat_01JC…'],
      view: view((chat) => `${chat.user_id} has blocked the bot.`),
    }),
    callLeaf({
      name: 'unblock',
      endpoint: contract.unblockChat,
      examples: ['voucherctl platform users unblock chat_01JC…'],
      view: view((chat) => `${chat.user_id} has lifted the block.`),
    }),
  ],
}

export const platformChats: Group = {
  name: 'chats',
  alias: 'chat',
  summary: 'Chats, and what was said in them',
  commands: [
    listLeaf({
      name: 'list',
      endpoint: contract.chats,
      flags: { bot: member('Only chats with this bot', 'ID'), user: member('Only chats of this user', 'ID') },
      examples: ['voucherctl platform chats list --user user-42'],
      // Omit the bot id from the table, because two ids and a name do not fit on a line; other formats contain it.
      view: { members: ['id', 'user_id', 'type', 'blocked', 'created_at'] },
    }),
    listLeaf({
      name: 'messages',
      endpoint: contract.messages,
      notes: ['A voucher that a bot delivered shows its redeem code here, as its user sees it.'],
      examples: ['voucherctl platform chats messages chat_01JC…'],
      view: { body: transcript, key: 'message_id' },
    }),
  ],
}

function transcript(data: unknown, times: Times): string | undefined {
  if (!isList(data)) return undefined
  return (data.items as Partial<TranscriptMessage>[]).map((it) => messageLines(it, times)).join('\n')
}

function messageLines({ message_id, date, from, text, voucher }: Partial<TranscriptMessage>, times: Times): string {
  const at = typeof date === 'number' ? timeInList(new Date(date * 1000).toISOString(), times) : '-'
  const said = `${at}  ${message_id}  ${from?.is_bot ? 'bot' : from?.id}: ${text}`
  const shown = (voucher?.credentials ?? []).map((it) => `    ${String(it.type).padEnd(11)}  ${it.value}`)
  return [said, ...shown].map(plainLine).join('\n')
}
