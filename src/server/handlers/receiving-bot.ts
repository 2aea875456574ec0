import { updateTypes } from '../../contract/updates.js'
import { wantedTypes } from '../../domain/update.js'
import { approvedById } from '../../store/bots/bots.js'
import { allowedUpdatesOf, webhookOf } from '../../store/delivery/webhooks.js'
import type { Deps } from '../deps.js'
import { setWebhook } from './webhook.js'

/**
 * Delivers the updates of a bot to a URL, as its owner could; a bot that has selected no update types selects all.
 * Returns the types that it had selected before. Changes nothing and returns the origin if the bot has another webhook.
 */
export async function deliverTo(
  deps: Deps,
  botId: string,
  { url, secret }: { readonly url: string; readonly secret: string },
) {
  const [webhook, selection] = await deps.store.read(function* () {
    return [yield* webhookOf(botId), yield* allowedUpdatesOf(botId)] as const
  })
  if (webhook !== null && webhook.origin !== new URL(url).origin)
    return { ok: true, elsewhere: webhook.origin } as const
  const allowed = selection === null ? { allowed_updates: [...updateTypes] } : {}
  const set = await setWebhook(deps, botId, { url, secret_token: secret, ...allowed }, () => approvedById(botId))
  return 'ok' in set ? set : ({ ok: true, elsewhere: null, selected: wantedTypes(selection) } as const)
}
