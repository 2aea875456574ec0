import { updateTypes } from '../contract/updates.js'
import { approvedById } from '../store/bots/bots.js'
import { allowedUpdatesOf, webhookOf } from '../store/delivery/webhooks.js'
import type { Deps } from './deps.js'
import { setWebhook } from './handlers/webhook.js'

/**
 * Delivers the updates of a bot to a URL, as its owner could; a bot that has selected no update types selects all.
 * Changes nothing and returns the origin of its webhook if the bot has another one.
 */
export async function deliverTo(
  deps: Deps,
  botId: string,
  { url, secret }: { readonly url: string; readonly secret: string },
) {
  const [webhook, selected] = await deps.store.read(function* () {
    return [yield* webhookOf(botId), yield* allowedUpdatesOf(botId)] as const
  })
  if (webhook !== null && webhook.origin !== new URL(url).origin)
    return { ok: true, elsewhere: webhook.origin } as const
  const allowed = selected === null ? { allowed_updates: [...updateTypes] } : {}
  const set = await setWebhook(deps, botId, { url, secret_token: secret, ...allowed }, () => approvedById(botId))
  return 'ok' in set ? set : ({ ok: true, elsewhere: null } as const)
}
