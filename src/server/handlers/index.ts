import type { Deps } from '../deps.js'
import type { Checks, Handlers } from '../handler.js'
import { appHandlers } from './apps.js'
import { botRuntimeHandlers } from './bot-runtime.js'
import { botChecks, botConsoleHandlers } from './bots.js'
import { platformHandlers } from './platform.js'
import { platformChatChecks } from './platform-chats.js'
import { templateChecks, templateHandlers } from './templates.js'
import { tokenChecks, tokenHandlers } from './tokens.js'
import { voucherChecks, voucherHandlers } from './vouchers.js'
import { webhookHandlers } from './webhook.js'

/** One handler for each endpoint of the contract, under the same names: the compiler misses none. */
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

export const checks: Checks = {
  ...botChecks,
  ...platformChatChecks,
  ...templateChecks,
  ...tokenChecks,
  ...voucherChecks,
}
