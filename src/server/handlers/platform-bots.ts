import * as bots from '../../store/bots/bots.js'
import { answer, type MakeHandlers } from '../handler.js'

type Switches = 'approveBot' | 'rejectBot' | 'disableBot' | 'enableBot'

/** Decisions of the platform over bots (DECISIONS.md#operator-api). */
export const platformBotHandlers: (
  deps: Parameters<MakeHandlers<'platform'>>[0],
) => Pick<ReturnType<MakeHandlers<'platform'>>, Switches> = ({ store, clock }) => ({
  approveBot: async ({ botId }) => answer(await store.write(() => bots.decide(botId, 'approve', clock.now()))),
  rejectBot: async ({ botId, note }) =>
    answer(await store.write(() => bots.decide(botId, { reject: note }, clock.now()))),
  disableBot: async ({ botId }) => answer(await store.write(() => bots.decide(botId, 'disable', clock.now()))),
  enableBot: async ({ botId }) => answer(await store.write(() => bots.decide(botId, 'enable', clock.now()))),
})
