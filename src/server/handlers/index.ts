import type { Deps } from '../deps.js'
import { type Handlers, repliesOf } from '../handler.js'
import { appHandlers } from './apps.js'
import { botRuntimeHandlers } from './bot-runtime.js'
import { botConsoleHandlers } from './bots.js'
import { controlHandlers } from './controls.js'
import { deliveryHandlers } from './deliveries.js'
import { platformHandlers } from './platform.js'
import { snapshotHandlers } from './snapshots.js'
import { templateHandlers } from './templates.js'
import { tokenHandlers } from './tokens.js'
import { voucherHistoryHandlers } from './voucher-history.js'
import { voucherHandlers } from './vouchers.js'
import { webhookHandlers } from './webhook.js'

/** The handler of each endpoint of the contract, under the same group and name. */
export function makeHandlers(deps: Deps): Handlers {
  const replies = repliesOf(deps)
  return {
    apps: appHandlers(deps, replies),
    tokens: tokenHandlers(deps, replies),
    templates: templateHandlers(deps, replies),
    vouchers: voucherHandlers(deps, replies),
    bots: { ...botConsoleHandlers(deps, replies), ...botRuntimeHandlers(deps, replies) },
    webhook: webhookHandlers(deps, replies),
    platform: {
      ...platformHandlers(deps, replies),
      ...controlHandlers(deps, replies),
      ...deliveryHandlers(deps, replies),
      ...snapshotHandlers(deps, replies),
      ...voucherHistoryHandlers(deps, replies),
    },
  }
}
