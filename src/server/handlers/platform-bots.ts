import type { MakeHandlers } from '../handler.js'
import { notYet } from './not-yet.js'

type Switches = 'approveBot' | 'rejectBot' | 'disableBot' | 'enableBot'

/** Decisions of the platform over bots (decisions.md 7). */
export const platformBotHandlers: (
  deps: Parameters<MakeHandlers<'platform'>>[0],
) => Pick<ReturnType<MakeHandlers<'platform'>>, Switches> = () => ({
  approveBot: notYet,
  rejectBot: notYet,
  disableBot: notYet,
  enableBot: notYet,
})
