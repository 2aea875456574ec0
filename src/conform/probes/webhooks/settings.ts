import { contract } from '../../../contract/index.js'
import { signatureOf, webhookHeaders } from '../../../webhook/signature.js'
import { voucher } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'
import type { Arrival } from '../../receiver.js'
import {
  arrivalsWith,
  delivered,
  deliveryNeeds,
  deliveryRule,
  newEvent,
  noWebhook,
  removeWebhook,
  sameBot,
  settled,
  setWebhook,
  webhook,
} from './hook.js'
import { polled } from './polled.js'

const { bots, webhook: calls } = contract
const needs = ['jwt', 'bot id', 'webhook'] as const
const probe = probesOf('webhook-settings', { needs })
const delivering = probe.with(deliveryRule)
const deliveringToBot = delivering.with({ needs: [...deliveryNeeds, 'bot'] })
const botRead = probe.with({ needs: ['bot'], reads: true })
const botProbe = probe.with({ needs: ['jwt', 'bot', 'bot id', 'webhook'] })
const pollingProbe = botProbe.with({ waitsMs: 2_500 })

const header = ({ headers }: Arrival, name: keyof typeof webhookHeaders) =>
  String(headers[webhookHeaders[name].toLowerCase()] ?? '')

/** Signatures of a delivery, and the signatures that the secrets make. */
const signatures = (arrival: Arrival, ...secrets: readonly string[]) => ({
  received: header(arrival, 'signature'),
  expected: secrets.map((it) => signatureOf(arrival.rawBody, it, header(arrival, 'timestamp'))).join(','),
})

/** Webhook of a platform that signs with the webhook's secret. */
async function signing(run: ProbeContext) {
  const own = await webhook(run)
  const { received, expected } = signatures((await delivered(run)).arrival, own.secret)
  return received === expected ? own : run.notApplicable('Needs deliveries with a signature by the secret.')
}

/** Sets a webhook twice, without a secret. */
const created = (run: ProbeContext) =>
  run.resources.once('created secret', async () => {
    const own = await noWebhook(run)
    const first = run.needs(await setWebhook(run, { secret_token: undefined }), 'a webhook without a secret_token')
    const second = run.needs(await setWebhook(run, { secret_token: undefined }), 'a webhook without a secret_token')
    return { own, first: first.one_time_secret_token, second: second.one_time_secret_token }
  })

const infoOf = async (it: ProbeContext) => it.needs(await it.call(calls.info, {}), 'getWebhookInfo')

type RefusedInput = readonly [rule: number, name: string, title: string, input: Record<string, unknown>]
const refusedInputs: readonly RefusedInput[] = [
  [3, 'secret-of-257', 'A secret_token of 257 characters is refused with 400.', { secret_token: 'x'.repeat(257) }],
  [3, 'secret-with-a-space', 'A secret_token with a space is refused with 400.', { secret_token: 'conform conform' }],
  [3, 'empty-secret', 'An empty secret_token is refused with 400.', { secret_token: '' }],
  [3, 'grace-of-86401', 'secret_grace_seconds of 86,401 is refused with 400.', { secret_grace_seconds: 86_401 }],
  [4, 'max-connections-of-0', 'max_connections of 0 is refused with 400.', { max_connections: 0 }],
  [4, 'max-connections-of-101', 'max_connections of 101 is refused with 400.', { max_connections: 101 }],
  [4, 'private-allowed-ip', 'A private address in allowed_ips is refused with 400.', { allowed_ips: ['10.0.0.1'] }],
  [4, 'private-allowed-range', 'A private CIDR in allowed_ips is refused.', { allowed_ips: ['192.168.0.0/16'] }],
  [
    4,
    'other-allowed-ip',
    'A host outside allowed_ips is refused.',
    { url: 'https://1.1.1.1/x', allowed_ips: ['9.9.9.9'] },
  ],
]

export const webhookSettings = [
  probe.specified(1, 'mode-webhook', 'Setting a webhook makes the delivery mode webhook.', async (run) => {
    await webhook(run)
    run.equals('delivery_mode', run.accepts(await setWebhook(run)).delivery_mode, 'webhook')
  }),
  probe.specified(1, 'mode-polling', 'Deleting a webhook makes the delivery mode polling.', async (run) => {
    const own = await webhook(run)
    own.isSet = false
    run.equals('delivery_mode', run.accepts(await removeWebhook(run, own.botId, true)).delivery_mode, 'polling')
  }),
  botProbe.specified(1, 'by-the-bot', 'A bot sets its webhook with setWebhook.', async (run) => {
    await sameBot(run)
    const { url, secret, botId } = await noWebhook(run)
    run.accepts(await run.call(calls.setByBot, { url, secret_token: secret }))
    const { items } = run.needs(await run.call(bots.list, { limit: 100 }), 'a list of bots')
    run.equals('delivery_mode', items.find((one) => one.id === botId)?.delivery_mode, 'webhook')
  }),
  botProbe.partly(1, 'same-rules', 'setWebhook of a bot refuses a URL with http too.', async (run) => {
    const own = await webhook(run)
    const { secret } = own
    own.isSet = false
    const url = 'http://hooks.conform.example/x'
    run.refuses(await run.call(calls.setByBot, { url, secret_token: secret }), 400)
  }),
  botProbe(5, 'same-values', 'Setting the same values again changes nothing.', async (run) => {
    await sameBot(run)
    await webhook(run)
    const before = await infoOf(run)
    run.accepts(await setWebhook(run))
    run.equals('getWebhookInfo', await infoOf(run), before)
  }),
  pollingProbe.partly(2, 'polling-active', 'Setting a webhook during a held poll is refused with 409.', async (run) => {
    const { goodUrl } = await polled(run)
    run.refuses(goodUrl, 409, 'POLLING_ACTIVE')
  }),
  ...refusedInputs.map(([rule, name, title, input]) =>
    probe(rule, name, title, async (run) => {
      const { botId } = await webhook(run)
      const response = await setWebhook(run, input)
      if (response.isSuccess) await removeWebhook(run, botId, true)
      run.refuses(response, 400)
    }),
  ),
  probe(3, 'secret-of-256', 'A secret_token of 256 characters is accepted.', async (run) => {
    await webhook(run)
    run.accepts(await setWebhook(run, { secret_token: 'x'.repeat(256) }))
  }),
  probe(3, 'grace-of-86400', 'secret_grace_seconds of 86,400 is accepted.', async (run) => {
    await webhook(run)
    run.accepts(await setWebhook(run, { secret_token: run.resources.name(), secret_grace_seconds: 86_400 }))
  }),
  probe(4, 'max-connections', 'max_connections is 40 by default.', async (run) => {
    await noWebhook(run)
    run.equals('max_connections', run.accepts(await setWebhook(run)).max_connections, 40)
  }),
  probe(3, 'created-secret', 'Without secret_token the platform creates a secret and returns it.', async (run) => {
    const { first } = await created(run)
    run.holds(typeof first === 'string' && first.length >= 32, 'one_time_secret_token', typeof first)
  }),
  probe(3, 'once', 'The created secret is returned once.', async (run) => {
    const { first, second } = await created(run)
    if (first === undefined) run.notApplicable('Needs a created secret.')
    run.holds(second === undefined, 'no one_time_secret_token', 'one_time_secret_token')
  }),
  delivering(3, 'signed-by-created', 'Deliveries are signed with the created secret.', async (run) => {
    await signing(run)
    const own = await noWebhook(run)
    const { one_time_secret_token: secret } = run.needs(await setWebhook(run, { secret_token: undefined }), 'a webhook')
    if (secret === undefined) return run.notApplicable('Needs a created secret.')
    const { received, expected } = signatures((await newEvent(run, own)).arrival, secret)
    run.holds(received === expected, 'a signature by the created secret', 'another signature')
  }),
  delivering(3, 'kept-secret', 'Without secret_token the platform keeps the secret that it has.', async (run) => {
    const own = await signing(run)
    run.needs(await setWebhook(run, { secret_token: undefined }), 'a webhook without a secret_token')
    const { received, expected } = signatures((await newEvent(run, own)).arrival, own.secret)
    run.holds(received === expected, 'a signature by the old secret', 'another signature')
  }),
  delivering(3, 'grace', 'With secret_grace_seconds deliveries have two signatures, new and old.', async (run) => {
    const own = await signing(run)
    const secret_token = run.resources.name()
    run.resources.secrets.add('WEBHOOK_SECRET', secret_token)
    run.needs(await setWebhook(run, { secret_token, secret_grace_seconds: 600 }), 'a webhook with another secret')
    const { received, expected } = signatures((await newEvent(run, own)).arrival, secret_token, own.secret)
    run.holds(received === expected, 'new,old', `${received.split(',').length} signatures, not both as expected`)
  }),
  deliveringToBot(5, 'new-url', 'A new URL clears the last error and the address of the endpoint.', async (run) => {
    await sameBot(run)
    const { updateId } = await newEvent(run, await webhook(run), () => 500)
    await settled(run, updateId)
    if ((await infoOf(run)).last_error_date === null) run.notApplicable('Needs getWebhookInfo with the last error.')
    run.needs(await setWebhook(run, { url: `${(await webhook(run)).url}-new` }), 'a webhook with a new URL')
    const { last_error_date, last_error_message, ip_address } = await infoOf(run)
    run.equals('last error and address', [last_error_date, last_error_message, ip_address], [null, null, null])
  }),
  delivering(5, 'scheduled-attempts', 'With a new URL a failed delivery keeps its retry time.', async (run) => {
    const own = await webhook(run)
    const { updateId } = await newEvent(run, own, () => 500)
    const { next_attempt_at: before } = await settled(run, updateId)
    if (before === null) run.notApplicable('Needs a failed delivery with a next attempt.')
    run.needs(await setWebhook(run, { url: `${own.url}-other` }), 'a webhook with a new URL')
    run.equals('next_attempt_at', (await settled(run, updateId)).next_attempt_at, before)
  }),
  delivering(5, 'waiting-update', 'An update that waits when a webhook is set is delivered.', async (run) => {
    await delivered(run)
    const own = await noWebhook(run)
    const { id } = await voucher(run)
    await webhook(run)
    const [arrival] = await arrivalsWith(own, id)
    run.holds(arrival !== undefined, 'a delivery of the update', 'no delivery')
  }),
  probe(5, 'no-update', 'Setting a webhook creates no update.', async (run) => {
    const { botId } = await noWebhook(run)
    const total = async () =>
      run.needs(await run.call(calls.deliveries, { botId, limit: 1 }), 'a list of deliveries').pagination.total
    const before = await total()
    await webhook(run)
    run.equals('number of deliveries', await total(), before)
  }),
  botRead.specified(1, 'egress-addresses', 'getWebhookInfo has the list platform_egress_ips.', async (it) =>
    it.holds(Array.isArray((await infoOf(it)).platform_egress_ips), 'a list', 'none'),
  ),
]
