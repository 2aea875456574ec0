import { type Refusal, refuse } from '../../contract/errors.js'
import { contract } from '../../contract/index.js'
import { updateTypes } from '../../contract/updates.js'
import type { WebhookInput, WebhookWarning } from '../../contract/webhook.js'
import { refuseBotCall } from '../../domain/bot/caller.js'
import type { BotRow } from '../../domain/bot/rows.js'
import { wantedTypes } from '../../domain/update.js'
import * as bots from '../../store/bots/bots.js'
import { isPolled } from '../../store/bots/open-polls.js'
import { lockQueue } from '../../store/delivery/backlog.js'
import * as deliveries from '../../store/delivery/deliveries.js'
import * as webhooks from '../../store/delivery/webhooks.js'
import type { Op } from '../../store/operation.js'
import { type CheckedUrl, checkAllowedIp, checkUrl, resolve } from '../delivery/guard.js'
import type { Deps } from '../deps.js'
import { invalid, type MakeHandlers, type MakeSome, replyOf } from '../handler.js'
import type { Caller } from '../http/api-call.js'

const SECRET_BYTES = 32

/** Time limit for looking up the host of a new webhook. A timeout is only a warning: each delivery looks up again. */
const LOOKUP_MS_MAX = 5_000

export const webhookHandlers: MakeHandlers<'webhook'> = (deps, { read, write }) => {
  const { keys, webhooks: policy } = deps
  return {
    set: async ({ botId, ...input }, { caller, hidesSecrets }) =>
      replyOf(await setWebhook(deps, botId, input, () => bots.approved(caller.accountId, botId), hidesSecrets)),

    setByBot: async (input, { caller, hidesSecrets }) =>
      replyOf(await setWebhook(deps, caller.botId, input, () => recheckCaller(caller), hidesSecrets)),

    delete: ({ botId, drop_pending_updates: drop = false }, { caller }) =>
      write(function* () {
        const bot = yield* bots.approved(caller.accountId, botId)
        return 'ok' in bot ? bot : yield* webhooks.remove(botId, drop)
      }),

    info: (_input, { caller }) => read(() => webhooks.info(caller.botId, keys, policy.egressIps)),

    deliveries: ({ botId, ...filter }, { caller }) => read(() => deliveries.list(caller.accountId, botId, filter)),

    retry: ({ botId, deliveryId, force = false }, { caller }) =>
      write(() => deliveries.retry(caller.accountId, botId, deliveryId, force)),
  }
}

/** Time without a renewal after which a listener loses the webhook (rules/webhooks.md#borrowed-webhooks). */
const LEASE_SECONDS = 30

/** Leases of webhooks in the operator API. */
export const leaseHandlers = ((deps, { write }) => {
  const { keys, random, clock, polls, leaseNow, newId, webhooks: policy } = deps
  return {
    borrowWebhook: ({ botId, leaseId, holder, port, secret_token: secret }) =>
      write(function* () {
        const bot = yield* bots.approvedById(botId)
        if ('ok' in bot) return bot
        if (!policy.lends) return refuse('WEBHOOK_URL_REFUSED', { reason: 'server_not_loopback' })
        yield* lockQueue(botId)
        if ((yield* webhooks.webhookOf(botId)) === null && (yield* isPolledNow(polls, botId))) {
          return refuse('POLLING_ACTIVE')
        }
        const [url, now] = [`http://127.0.0.1:${port}/`, leaseNow()]
        const lease = { leaseId, holder, url, secret, leaseNow: now, until: now + LEASE_SECONDS * 1000 }
        const maker = { now: clock.now(), newDeliveryId: () => newId('dlv') }
        const refusal = yield* webhooks.borrow({ botId, ...lease, ...maker }, { keys, random })
        const chosen = wantedTypes(yield* webhooks.allowedUpdatesOf(botId))
        return refusal ?? { url, expires_in_seconds: LEASE_SECONDS, allowed_updates: [...chosen] }
      }),

    returnWebhook: ({ botId, leaseId }) =>
      write(function* () {
        const bot = yield* bots.approvedById(botId)
        return 'ok' in bot ? bot : { returned: yield* webhooks.giveBack(botId, (lease) => lease.id === leaseId) }
      }),
  }
}) satisfies MakeSome<'platform'>

/** True if a getUpdates call of the bot is open in any process. */
function* isPolledNow(polls: Deps['polls'], botId: string): Op<boolean> {
  return polls.isOpen(botId) || (polls.across && (yield* isPolled(botId, Date.now())))
}

/** Checks the bot's token again: the owner may have replaced a stolen token during the DNS look-up. Null if valid. */
function* recheckCaller(caller: Caller): Op<ReturnType<typeof refuseBotCall>> {
  return refuseBotCall(yield* bots.callerAgain(caller), contract.webhook.setByBot)
}

/**
 * Sets a webhook for console and bot, in the order of rules/webhooks.md#webhook-urls: checks the URL without a look-up,
 * then the bot and its polls, then looks up the host. The transaction that writes checks the bot and its polls again.
 * @param hidesSecrets true if nobody could read a secret that the server makes
 */
async function setWebhook<R extends Refusal>(
  { store, clock, keys, random, newId, polls, webhooks: policy }: Deps,
  botId: string,
  input: WebhookInput,
  findBot: () => Op<BotRow | R | null>,
  hidesSecrets = false,
) {
  const { allowed_ips: allowedIps, url } = input
  const badEntry = allowedIps?.findIndex((entry) => !checkAllowedIp(entry)) ?? -1
  const { loopbackPorts } = policy
  const byForm = checkUrl(url, { loopbackPorts, allowedIps: badEntry === -1 ? allowedIps : undefined })
  if (!byForm.ok) return refuse('WEBHOOK_URL_REFUSED', { reason: byForm.reason })
  if (badEntry !== -1) {
    const message = 'is no public address or CIDR of public addresses'
    return invalid({ pointer: `/allowed_ips/${badEntry}`, code: 'not_public', message })
  }

  /** Checks the URL against the allowed_ips that will apply, and whether the bot may have a webhook now. */
  const admit = function* (): Op<
    CheckedUrl | R | Refusal<'POLLING_ACTIVE' | 'VALIDATION_FAILED' | 'WEBHOOK_URL_REFUSED'>
  > {
    const bot = yield* findBot()
    if (bot !== null && 'ok' in bot) return bot
    // A new poll takes this lock too, so none can start before the transaction ends.
    yield* lockQueue(botId)
    const inEffect = yield* webhooks.webhookOf(botId)
    const was = webhooks.ownSettings(inEffect)
    if (was === null && hidesSecrets && input.secret_token === undefined) {
      return invalid({
        pointer: '/secret_token',
        code: 'required',
        message: 'is required: no response shows a new one',
      })
    }
    // Refuse only for a bot without a webhook: a bot with a webhook cannot poll, and a late poll ends with 409.
    if (inEffect === null && (yield* isPolledNow(polls, botId))) return refuse('POLLING_ACTIVE')
    const previousIps = was === null ? [] : (JSON.parse(was.allowed_ips) as string[])
    const checked = checkUrl(url, { loopbackPorts, allowedIps: allowedIps ?? previousIps })
    return checked.ok ? checked : refuse('WEBHOOK_URL_REFUSED', { reason: checked.reason })
  }
  const admitted = await store.read(admit)
  if (!('url' in admitted)) return admitted
  const resolved = await resolve(admitted, (host) => policy.lookup(host, AbortSignal.timeout(LOOKUP_MS_MAX)))
  if (!resolved.ok && resolved.reason !== 'unresolved') {
    return refuse('WEBHOOK_URL_REFUSED', { reason: resolved.reason })
  }
  const warnings: WebhookWarning[] = resolved.ok ? [] : ['host_unresolved']

  return store.write(function* () {
    const stillAdmitted = yield* admit()
    if (!('url' in stillAdmitted)) return stillAdmitted
    const now = clock.now()
    const request = {
      url,
      origin: stillAdmitted.url.origin,
      secret: input.secret_token,
      graceSeconds: input.secret_grace_seconds,
      allowedUpdates: input.allowed_updates,
      allowedIps,
      maxConnections: input.max_connections,
    }
    const newSecret = Buffer.from(random(SECRET_BYTES)).toString('base64url')
    const dropPending = input.drop_pending_updates ?? false
    const newDeliveryId = () => newId('dlv')
    const call = { botId, request, dropPending, warnings, newSecret, now, newDeliveryId }
    return yield* webhooks.set(call, { keys, random })
  })
}

/**
 * Delivers the updates of a bot to a URL, as its owner could. A bot without selected update types selects all types;
 * the result has the earlier selection. If the bot has another webhook, it changes nothing and returns its origin.
 */
export async function deliverTo(
  deps: Deps,
  botId: string,
  { url, secret }: { readonly url: string; readonly secret: string },
) {
  const [webhook, selection] = await deps.store.read(function* () {
    return [yield* webhooks.webhookOf(botId), yield* webhooks.allowedUpdatesOf(botId)] as const
  })
  if (webhook !== null && webhook.origin !== new URL(url).origin)
    return { ok: true, elsewhere: webhook.origin } as const
  const allowed = selection === null ? { allowed_updates: [...updateTypes] } : {}
  const set = await setWebhook(deps, botId, { url, secret_token: secret, ...allowed }, () => bots.approvedById(botId))
  return 'ok' in set ? set : ({ ok: true, elsewhere: null, selected: wantedTypes(selection) } as const)
}
