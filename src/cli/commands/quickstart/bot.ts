import { apps } from '../../../contract/apps.js'
import { bots } from '../../../contract/bots.js'
import { botScopes } from '../../../contract/endpoint.js'
import { platform } from '../../../contract/platform/platform.js'
import { redact } from '../../../contract/secrets.js'
import type { Update } from '../../../contract/updates.js'
import { webhook } from '../../../contract/webhook.js'
import type { ScenarioInbox } from '../../scenario/inbox.js'
import { credentialOf } from '../vouchers/issue.js'
import { interrupted, StepFailure, unexpected, type Walkthrough } from './walkthrough.js'

/** Runs the steps of a bot that delivers a voucher in a chat and receives updates at a webhook on this machine. */
export async function runBotSteps(
  walkthrough: Walkthrough,
  { appId, templateId }: { readonly appId: string; readonly templateId: string },
  receiver: ScenarioInbox,
): Promise<void> {
  const username = 'coffee_bot'
  const scopes = botScopes.map((it) => `--scope ${it}`).join(' ')
  const applied = await walkthrough.run(bots.apply, {
    title: 'A bot',
    command: `voucherctl bots apply --name "Coffee bot" --username ${username} ${scopes}`,
    input: { name: 'Coffee bot', username, scopes: [...botScopes] },
    describe: (it) => `${it.id}, ${it.review_status}`,
  })
  const botId = applied.id
  walkthrough.botId = botId
  await walkthrough.run(platform.approveBot, {
    title: 'Approved, as the platform would',
    command: `voucherctl platform bots approve ${botId}`,
    input: { botId },
    describe: (it) => `the bot is ${it.status}`,
  })
  const owned = await walkthrough.run(bots.get, {
    title: 'Its token, shown to its owner once',
    command: `voucherctl bots get ${botId} --save`,
    input: { botId },
    describe: (it) => `${redact(it.one_time_token ?? '')}, with ${it.scopes.length} scopes`,
  })
  if (owned.one_time_token === undefined) throw unexpected('The bot came without its token.')
  walkthrough.credentials.set('bot', owned.one_time_token)
  await walkthrough.run(apps.linkBot, {
    title: 'Linked to the application',
    command: `voucherctl apps link-bot ${appId} --bot ${botId}`,
    input: { appId, botId },
    describe: (it) => `${it.name} delivers through ${it.linkedBots.map((one) => one.username).join(', ')}`,
  })
  await deliver(walkthrough, botId, templateId, receiver)
}

async function deliver(
  walkthrough: Walkthrough,
  botId: string,
  templateId: string,
  receiver: ScenarioInbox,
): Promise<void> {
  const url = `${receiver.url}updates`
  await walkthrough.run(webhook.set, {
    title: 'A webhook, to a receiver on this machine',
    command: `voucherctl webhook set ${botId} --url ${url} --secret-file secret.txt --allowed-update my_chat_member --allowed-update voucher_issued`,
    input: {
      botId,
      url,
      secret_token: receiver.secret,
      allowed_updates: ['my_chat_member', 'voucher_issued'],
    },
    describe: (it) => `${it.delivery_mode}, every delivery signed`,
  })
  const chat = await walkthrough.run(platform.createChat, {
    title: 'A user starts a chat with the bot',
    command: `voucherctl platform users start --bot ${botId} --user user-42`,
    input: { bot_id: botId, user_id: 'user-42' },
    describe: (it) => `${it.id}, ${it.type}`,
  })
  await waitForDelivery(walkthrough, botId, receiver)
  await walkthrough.run(bots.issue, {
    title: 'A voucher, issued into the chat',
    command: `voucherctl vouchers issue --template ${templateId} --external-id order-1002 --chat ${chat.id}`,
    input: { template_id: templateId, external_issue_id: 'order-1002', chat_id: chat.id },
    idempotencyKey: walkthrough.newIdempotencyKey(),
    describe: (it) => `redeem code ${credentialOf(it, 'redeem_code')}, message ${it.delivery?.message_id} of the chat`,
  })
  await waitForDelivery(walkthrough, botId, receiver)
}

const WAIT_MS = 10_000

/** Waits until the webhook receiver has verified a delivery. */
async function waitForDelivery(walkthrough: Walkthrough, botId: string, receiver: ScenarioInbox): Promise<void> {
  const { signal } = walkthrough
  const limit = AbortSignal.any([signal, AbortSignal.timeout(WAIT_MS)])
  while (receiver.waiting.length === 0 && !limit.aborted) await receiver.arrival(limit)
  const received = receiver.waiting.shift()
  if (received === undefined) throw signal.aborted ? new StepFailure(interrupted) : unexpected('No delivery arrived.')
  const { update_id } = received.body as Update
  await walkthrough.add({
    title: 'Delivered to the webhook',
    command: `voucherctl webhook deliveries ${botId}`,
    result: `update ${update_id}, ${received.type}: signature valid, response 200`,
    call: null,
    status: null,
    exit: 0,
  })
}
