import * as apps from '../../store/apps.js'
import { type MakeHandlers, replyOf } from '../handler.js'

export const appHandlers: MakeHandlers<'apps'> = ({ store, clock, newId }) => ({
  list: async (input, { caller }) => replyOf(await store.read(() => apps.list(caller.accountId, input))),
  create: async (input, { caller }) => {
    const id = newId('app')
    return replyOf(await store.write(() => apps.create(caller.accountId, id, input, clock.now())))
  },
  get: async ({ appId }, { caller }) => replyOf(await store.read(() => apps.get(caller.accountId, appId))),
  update: async ({ appId, ...settings }, { caller }) =>
    replyOf(await store.write(() => apps.update(caller.accountId, appId, settings, clock.now()))),
  linkBot: async ({ appId, botId }, { caller }) =>
    replyOf(await store.write(() => apps.linkBot(caller.accountId, appId, botId, clock.now()))),
  unlinkBot: async ({ appId, botId }, { caller }) =>
    replyOf(await store.write(() => apps.unlinkBot(caller.accountId, appId, botId, clock.now()))),
})
