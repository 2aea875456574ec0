import type { Chat, Message } from '../../../src/contract/chats.js'
import type { InputOf } from '../../../src/contract/endpoint.js'
import { contract } from '../../../src/contract/index.js'
import type { Update } from '../../../src/contract/updates.js'
import { serial, type Tenant, type TestBot } from './tenant.js'

/** Starts a chat between a user and a bot. */
export async function newChat(
  tenant: Tenant,
  bot: Pick<TestBot, 'id'>,
  overrides: Partial<InputOf<typeof contract.platform.createChat>> = {},
): Promise<Chat> {
  const input = { bot_id: bot.id, user_id: `user-${serial()}`, ...overrides }
  return (await tenant.operator(contract.platform.createChat, input)).data
}

export async function say(tenant: Tenant, chat: Pick<Chat, 'id'>, text: string): Promise<Message> {
  return (await tenant.operator(contract.platform.sendAsUser, { chatId: chat.id, text })).data
}

export type PollInput = InputOf<typeof contract.bots.updates>

/** Returns the bot updates of one getUpdates request. */
export async function pollOf(bot: TestBot, input: PollInput = {}): Promise<Update[]> {
  return (await bot.call(contract.bots.updates, input)).data.items
}

export const idsOf = (updates: readonly Update[]): number[] => updates.map((it) => it.update_id)
