import * as apps from '../../store/apps.js'
import type { MakeHandlers } from '../handler.js'

export const appHandlers: MakeHandlers<'apps'> = ({ clock, newId, differences }, { read, write }) => ({
  list: (input, { caller }) => read(() => apps.list(caller.accountId, input)),
  create: async (input, { caller }) => {
    const id = newId('app')
    return write(() => apps.create(caller.accountId, id, input, clock.now(), differences.applicationsMax))
  },
  get: ({ appId }, { caller }) => read(() => apps.get(caller.accountId, appId)),
  update: ({ appId, ...settings }, { caller }) =>
    write(() => apps.update(caller.accountId, appId, settings, clock.now())),
  linkBot: ({ appId, botId }, { caller }) => write(() => apps.linkBot(caller.accountId, appId, botId, clock.now())),
  unlinkBot: ({ appId, botId }, { caller }) => write(() => apps.unlinkBot(caller.accountId, appId, botId, clock.now())),
})
