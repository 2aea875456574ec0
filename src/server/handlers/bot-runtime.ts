import type { MakeHandlers } from '../handler.js'
import { notYet } from './not-yet.js'

type Runtime = 'issue' | 'send' | 'updates'

/** What a bot does with its token (interface.md, B and E). */
export const botRuntimeHandlers: (
  deps: Parameters<MakeHandlers<'bots'>>[0],
) => Pick<ReturnType<MakeHandlers<'bots'>>, Runtime> = () => ({
  issue: notYet,
  send: notYet,
  updates: notYet,
})
