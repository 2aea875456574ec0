import { shellWord } from '../../../contract/values/shell-word.js'
import { commandLine, type PlannedCall } from './planned-call.js'

const CHATS = '/_platform/v1/chats'

const ofChat = (endpoint: string, chatId: string, last: string, command: string, body?: object): PlannedCall => ({
  endpoint: `platform.${endpoint}`,
  method: 'POST',
  route: `${CHATS}/:chatId/${last}`,
  params: { chatId },
  ...(body && { body }),
  status: 200,
  command,
})

export const startChat = (bot_id: string, user_id: string): PlannedCall => ({
  endpoint: 'platform.createChat',
  method: 'POST',
  route: CHATS,
  params: {},
  body: { bot_id, user_id },
  status: 200,
  command: commandLine('platform users start', { bot: bot_id, user: user_id }),
})

export const sendAsUser = (chatId: string, text: string): PlannedCall =>
  ofChat('sendAsUser', chatId, 'messages', commandLine(`platform users send ${shellWord(chatId)}`, { text }), { text })

export const blockBot = (chatId: string): PlannedCall =>
  ofChat('blockChat', chatId, 'block', commandLine(`platform users block ${shellWord(chatId)}`))

export const unblockBot = (chatId: string): PlannedCall =>
  ofChat('unblockChat', chatId, 'unblock', commandLine(`platform users unblock ${shellWord(chatId)}`))
