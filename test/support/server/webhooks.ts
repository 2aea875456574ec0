import { contract } from '../../../src/contract/index.js'
import type { Delivery } from '../../../src/contract/webhook.js'
import { notify, type Op, one, run, runEach } from '../../../src/store/operation.js'
import type { Store } from '../../../src/store/store.js'
import type { Tenant, TestBot } from './tenant.js'

/** Inserts an approved, active bot of the account `acc` with its update queue. */
export function* plantBot(botId: string): Op<void> {
  yield* run(
    `insert into bots (id, account_id, name, username, review_status, status, scopes, profile, command_menus,
       submitted_at, created_at, updated_at)
     values ($1, 'acc', 'Bot', $1, 'approved', 'active', '["messages:receive"]', '{}', '[]', 0, 0, 0)`,
    [botId],
  )
  yield* run('insert into update_queues (bot_id, last_update_id) values ($1, 0)', [botId])
}

/** Inserts pending updates under the next ids of a bot, without deliveries. */
export function* plantUpdates(botId: string, count: number, createdAt: number): Op<void> {
  const queue = yield* one<{ last_update_id: number }>('select last_update_id from update_queues where bot_id = $1', [
    botId,
  ])
  const last = Number(queue?.last_update_id)
  yield* runEach(
    `insert into updates (bot_id, update_id, type, body, created_at, pending) values ($1, $2, 'ping', '{}', $3, 1)`,
    Array.from({ length: count }, (_, index) => [botId, last + 1 + index, createdAt]),
  )
  yield* run('update update_queues set last_update_id = $2 where bot_id = $1', [botId, last + count])
}

/** Inserts a webhook row with minimal values, for tests that only need that one exists. */
export function* plantWebhook(botId: string): Op<void> {
  yield* run(
    `insert into webhooks (bot_id, url, origin, secret, allowed_ips, max_connections, failing, set_at)
     values ($1, '', 'https://hook.example', '', '[]', 40, 0, 0)`,
    [botId],
  )
  yield* notify(botId)
}

export const HOOK_URL = 'https://hooks.example.com/hook'

/** Sets the webhook of a bot, adds an update and returns its pending delivery. */
export async function newDelivery(tenant: Tenant, bot: Pick<TestBot, 'id'>): Promise<Delivery> {
  const botId = bot.id
  await tenant.console(contract.webhook.set, { botId, url: HOOK_URL })
  await tenant.operator(contract.platform.addUpdate, { botId, type: 'ping' })
  return (await tenant.console(contract.webhook.deliveries, { botId })).data.items[0] as Delivery
}

/** Creates a delivery like newDelivery() and fails its first attempt. */
export async function failedDelivery(tenant: Tenant, bot: Pick<TestBot, 'id'>, store: Store): Promise<Delivery> {
  const delivery = await newDelivery(tenant, bot)
  await store.write(() =>
    run("update deliveries set status = 'failed', attempt_count = 1, ready = 0 where id = $1", [delivery.id]),
  )
  return delivery
}
