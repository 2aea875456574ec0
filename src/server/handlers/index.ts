import * as apps from '../../store/apps.js'
import type { Deps } from '../deps.js'
import { type Handlers, type MakeHandlers, repliesOf } from '../handler.js'
import { actingHandlers } from './acting.js'
import { botRuntimeHandlers } from './bot-runtime.js'
import { botConsoleHandlers } from './bots.js'
import { controlHandlers } from './controls.js'
import { deliveryHandlers } from './deliveries.js'
import { platformHandlers } from './platform.js'
import { recordingHandlers } from './recordings.js'
import { snapshotHandlers } from './snapshots.js'
import { templateHandlers } from './templates.js'
import { tokenHandlers } from './tokens.js'
import { voucherHandlers, voucherHistoryHandlers } from './vouchers.js'
import { leaseHandlers, webhookHandlers } from './webhook.js'

/** The handler of each endpoint of the contract, under the same group and name. */
export function makeHandlers(deps: Deps): Handlers {
  const replies = repliesOf(deps)
  const platform = {
    ...platformHandlers(deps, replies),
    ...actingHandlers(deps),
    ...controlHandlers(deps),
    ...deliveryHandlers(deps, replies),
    ...leaseHandlers(deps, replies),
    ...snapshotHandlers(deps),
    ...voucherHistoryHandlers(deps, replies),
  }
  return {
    apps: appHandlers(deps, replies),
    tokens: tokenHandlers(deps, replies),
    templates: templateHandlers(deps, replies),
    vouchers: voucherHandlers(deps, replies),
    bots: { ...botConsoleHandlers(deps, replies), ...botRuntimeHandlers(deps, replies) },
    webhook: webhookHandlers(deps, replies),
    platform: { ...platform, ...recordingHandlers(deps, platform) },
  }
}

const appHandlers: MakeHandlers<'apps'> = ({ clock, newId }, { read, write }) => ({
  list: (input, { caller }) => read(() => apps.list(caller.accountId, input)),
  create: async (input, { caller }) => {
    const id = newId('app')
    return write(() => apps.create(caller.accountId, id, input, clock.now()))
  },
  get: ({ appId }, { caller }) => read(() => apps.get(caller.accountId, appId)),
  update: ({ appId, ...settings }, { caller }) =>
    write(() => apps.update(caller.accountId, appId, settings, clock.now())),
  linkBot: ({ appId, botId }, { caller }) => write(() => apps.linkBot(caller.accountId, appId, botId, clock.now())),
  unlinkBot: ({ appId, botId }, { caller }) => write(() => apps.unlinkBot(caller.accountId, appId, botId, clock.now())),
})
