import type { Deps } from '../deps.js'
import type { Handlers } from '../handler.js'
import { appHandlers } from './apps.js'
import { botRuntimeHandlers } from './bot-runtime.js'
import { botConsoleHandlers } from './bots.js'
import { platformHandlers } from './platform.js'
import { templateHandlers } from './templates.js'
import { tokenHandlers } from './tokens.js'
import { voucherHandlers } from './vouchers.js'
import { webhookHandlers } from './webhook.js'

/** One entry for each endpoint of the contract, under the same names: its handler, and its check if it has one. */
export function makeHandlers(deps: Deps): Handlers {
  return {
    apps: appHandlers(deps),
    tokens: tokenHandlers(deps),
    templates: templateHandlers(deps),
    vouchers: voucherHandlers(deps),
    bots: { ...botConsoleHandlers(deps), ...botRuntimeHandlers(deps) },
    webhook: webhookHandlers(deps),
    platform: platformHandlers(deps),
  }
}
