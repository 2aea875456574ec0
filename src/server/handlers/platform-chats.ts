import type { MakeHandlers } from '../handler.js'
import { notYet } from './not-yet.js'

type UserSide = 'addUpdate' | 'createChat' | 'chats' | 'messages' | 'sendAsUser' | 'blockChat' | 'unblockChat'

/** The user's side of bots: chats, messages, and updates made by hand (decisions.md 7). */
export const platformChatHandlers: (
  deps: Parameters<MakeHandlers<'platform'>>[0],
) => Pick<ReturnType<MakeHandlers<'platform'>>, UserSide> = () => ({
  addUpdate: notYet,
  createChat: notYet,
  chats: notYet,
  messages: notYet,
  sendAsUser: notYet,
  blockChat: notYet,
  unblockChat: notYet,
})
