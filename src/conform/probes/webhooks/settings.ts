import { contract } from '../../../contract/index.js'
import { signatureOf, webhookHeaders } from '../../../webhook/signature.js'
import { voucher } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'
import type { Arrival } from '../../receiver.js'
import {
  ARRIVAL_MS,
  arrivalsWith,
  delivered,
  deliveryNeeds,
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
const probe = probesOf('webhook-settings', {
  needs,
  specified: ['mode-webhook', 'mode-polling', 'by-the-bot', 'egress-addresses'],
  partly: ['same-rules', 'polling-active'],
})
const withBot = ['jwt', 'bot', 'bot id', 'webhook'] as const

const header = ({ headers }: Arrival, name: keyof typeof webhookHeaders) =>
  String(headers[webhookHeaders[name].toLowerCase()] ?? '')

/** The signatures of a delivery, and those that the secrets make. */
const signatures = (arrival: Arrival, ...secrets: readonly string[]) => ({
  received: header(arrival, 'signature'),
  expected: secrets.map((it) => signatureOf(arrival.rawBody, it, header(arrival, 'timestamp'))).join(','),
})

/** The webhook of a platform that signs with its secret. */
async function signing(it: ProbeContext) {
  const own = await webhook(it)
  const { received, expected } = signatures((await delivered(it)).arrival, own.secret)
  return received === expected ? own : it.notApplicable('Needs deliveries with a signature by the secret.')
}

/** Sets a webhook without a secret, twice. */
const created = (it: ProbeContext) =>
  it.resources.once('created secret', async () => {
    const own = await noWebhook(it)
    const first = it.needs(await setWebhook(it, { secret_token: undefined }), 'a webhook without a secret_token')
    const second = it.needs(await setWebhook(it, { secret_token: undefined }), 'a webhook without a secret_token')
    return { own, first: first.one_time_secret_token, second: second.one_time_secret_token }
  })

const infoOf = async (it: ProbeContext) => it.needs(await it.call(calls.info, {}), 'getWebhookInfo')

const refusedInputs: readonly (readonly [name: string, title: string, input: Readonly<Record<string, unknown>>])[] = [
  ['secret-of-257', 'A secret_token of 257 characters is refused with 400.', { secret_token: 'x'.repeat(257) }],
  ['secret-with-a-space', 'A secret_token with a space is refused with 400.', { secret_token: 'conform conform' }],
  ['empty-secret', 'An empty secret_token is refused with 400.', { secret_token: '' }],
  ['grace-of-86401', 'secret_grace_seconds of 86,401 is refused with 400.', { secret_grace_seconds: 86_401 }],
  ['max-connections-of-0', 'max_connections of 0 is refused with 400.', { max_connections: 0 }],
  ['max-connections-of-101', 'max_connections of 101 is refused with 400.', { max_connections: 101 }],
  ['private-allowed-ip', 'A private address in allowed_ips is refused with 400.', { allowed_ips: ['10.0.0.1'] }],
  ['private-allowed-range', 'A private CIDR in allowed_ips is refused with 400.', { allowed_ips: ['192.168.0.0/16'] }],
  [
    'other-allowed-ip',
    'A host that allowed_ips does not name is refused with 400.',
    { url: 'https://1.1.1.1/x', allowed_ips: ['9.9.9.9'] },
  ],
]

export const webhookSettings = [
  probe('mode-webhook', 'Setting a webhook makes the delivery mode webhook.', async (it) => {
    await webhook(it)
    it.equals('delivery_mode', it.accepts(await setWebhook(it)).delivery_mode, 'webhook')
  }),
  probe('mode-polling', 'Deleting a webhook makes the delivery mode polling.', async (it) => {
    const own = await webhook(it)
    own.isSet = false
    it.equals('delivery_mode', it.accepts(await removeWebhook(it, own.botId, true)).delivery_mode, 'polling')
  }),
  probe('by-the-bot', 'A bot sets its webhook with setWebhook.', { needs: withBot }, async (it) => {
    await sameBot(it)
    const { url, secret, botId } = await noWebhook(it)
    it.accepts(await it.call(calls.setByBot, { url, secret_token: secret }))
    const { items } = it.needs(await it.call(bots.list, { limit: 100 }), 'a list of bots')
    it.equals('delivery_mode', items.find((one) => one.id === botId)?.delivery_mode, 'webhook')
  }),
  probe('same-rules', 'setWebhook of a bot refuses a URL with http too.', { needs: withBot }, async (it) => {
    const { secret } = await webhook(it)
    const url = 'http://hooks.conform.example/x'
    const byAccount = await setWebhook(it, { url })
    if (byAccount.status !== 400) it.notApplicable('Needs a platform that refuses such a URL of the account.')
    it.refuses(await it.call(calls.setByBot, { url, secret_token: secret }), 400)
  }),
  probe('same-values', 'Setting the same values again changes nothing.', { needs: withBot }, async (it) => {
    await sameBot(it)
    await webhook(it)
    const before = await infoOf(it)
    it.accepts(await setWebhook(it))
    it.equals('getWebhookInfo', await infoOf(it), before)
  }),
  probe(
    'polling-active',
    'While a poll is held, setting a webhook is refused with 409.',
    { needs: withBot, waitsMs: 2_500 },
    async (it) => {
      const { goodUrl, badUrl } = await polled(it)
      if (badUrl.isSuccess) it.notApplicable('Needs a platform that refuses a URL with http.')
      it.refuses(goodUrl, 409, 'POLLING_ACTIVE')
    },
  ),
  ...refusedInputs.map(([name, title, input]) =>
    probe(name, title, async (it) => {
      const { botId } = await webhook(it)
      const response = await setWebhook(it, input)
      if (response.isSuccess) await removeWebhook(it, botId, true)
      it.refuses(response, 400)
    }),
  ),
  probe('secret-of-256', 'A secret_token of 256 characters is accepted.', async (it) => {
    await webhook(it)
    it.accepts(await setWebhook(it, { secret_token: 'x'.repeat(256) }))
  }),
  probe('grace-of-86400', 'secret_grace_seconds of 86,400 is accepted.', async (it) => {
    await webhook(it)
    it.accepts(await setWebhook(it, { secret_token: it.resources.name(), secret_grace_seconds: 86_400 }))
  }),
  probe('max-connections', 'max_connections is 40 by default.', async (it) => {
    await noWebhook(it)
    it.equals('max_connections', it.accepts(await setWebhook(it)).max_connections, 40)
  }),
  probe('created-secret', 'Without secret_token the platform creates a secret and returns it.', async (it) => {
    const { first } = await created(it)
    it.holds(typeof first === 'string' && first.length >= 32, 'one_time_secret_token', typeof first)
  }),
  probe('once', 'The created secret is returned once.', async (it) => {
    const { first, second } = await created(it)
    if (first === undefined) it.notApplicable('Needs a created secret.')
    it.holds(second === undefined, 'no one_time_secret_token', 'one_time_secret_token')
  }),
  probe(
    'signed-by-created',
    'Deliveries are signed with the created secret.',
    { needs: deliveryNeeds, vouchers: 2, waitsMs: ARRIVAL_MS },
    async (it) => {
      await signing(it)
      const own = await noWebhook(it)
      const { one_time_secret_token: secret } = it.needs(await setWebhook(it, { secret_token: undefined }), 'a webhook')
      if (secret === undefined) return it.notApplicable('Needs a created secret.')
      const { received, expected } = signatures((await newEvent(it, own)).arrival, secret)
      it.holds(received === expected, 'a signature by the created secret', 'another signature')
    },
  ),
  probe(
    'kept-secret',
    'Without secret_token the platform keeps the secret that it has.',
    { needs: deliveryNeeds, vouchers: 2, waitsMs: ARRIVAL_MS },
    async (it) => {
      const own = await signing(it)
      it.needs(await setWebhook(it, { secret_token: undefined }), 'a webhook without a secret_token')
      const { received, expected } = signatures((await newEvent(it, own)).arrival, own.secret)
      it.holds(received === expected, 'a signature by the old secret', 'another signature')
    },
  ),
  probe(
    'grace',
    'With secret_grace_seconds a delivery has two signatures, by the new secret and then by the old one.',
    { needs: deliveryNeeds, vouchers: 2, waitsMs: ARRIVAL_MS },
    async (it) => {
      const own = await signing(it)
      const secret_token = it.resources.name()
      it.resources.secrets.add('WEBHOOK_SECRET', secret_token)
      it.needs(await setWebhook(it, { secret_token, secret_grace_seconds: 600 }), 'a webhook with another secret')
      const { received, expected } = signatures((await newEvent(it, own)).arrival, secret_token, own.secret)
      it.holds(received === expected, 'new,old', `${received.split(',').length} signatures, not both as expected`)
    },
  ),
  probe(
    'new-url',
    'A new URL clears the last error and the address of the endpoint.',
    { needs: [...deliveryNeeds, 'bot'], vouchers: 2, waitsMs: ARRIVAL_MS },
    async (it) => {
      await sameBot(it)
      const { updateId } = await newEvent(it, await webhook(it), () => 500)
      await settled(it, updateId)
      if ((await infoOf(it)).last_error_date === null) it.notApplicable('Needs getWebhookInfo with the last error.')
      it.needs(await setWebhook(it, { url: `${(await webhook(it)).url}-new` }), 'a webhook with a new URL')
      const { last_error_date, last_error_message, ip_address } = await infoOf(it)
      it.equals('last error and address', [last_error_date, last_error_message, ip_address], [null, null, null])
    },
  ),
  probe(
    'scheduled-attempts',
    'With a new URL the next attempt of a failed delivery keeps its time.',
    { needs: deliveryNeeds, vouchers: 2, waitsMs: ARRIVAL_MS },
    async (it) => {
      const own = await webhook(it)
      const { updateId } = await newEvent(it, own, () => 500)
      const { next_attempt_at: before } = await settled(it, updateId)
      if (before === null) it.notApplicable('Needs a failed delivery with a next attempt.')
      it.needs(await setWebhook(it, { url: `${own.url}-other` }), 'a webhook with a new URL')
      it.equals('next_attempt_at', (await settled(it, updateId)).next_attempt_at, before)
    },
  ),
  probe(
    'waiting-update',
    'An update that waits when a webhook is set is delivered.',
    { needs: deliveryNeeds, vouchers: 2, waitsMs: ARRIVAL_MS },
    async (it) => {
      await delivered(it)
      const own = await noWebhook(it)
      const { id } = await voucher(it)
      await webhook(it)
      const [arrival] = await arrivalsWith(own, id)
      it.holds(arrival !== undefined, 'a delivery of the update', 'no delivery')
    },
  ),
  probe('no-update', 'Setting a webhook creates no update.', async (it) => {
    const { botId } = await noWebhook(it)
    const total = async () =>
      it.needs(await it.call(calls.deliveries, { botId, limit: 1 }), 'a list of deliveries').pagination.total
    const before = await total()
    await webhook(it)
    it.equals('number of deliveries', await total(), before)
  }),
  probe(
    'egress-addresses',
    'getWebhookInfo has the list platform_egress_ips.',
    { needs: ['bot'], reads: true },
    async (it) => it.holds(Array.isArray((await infoOf(it)).platform_egress_ips), 'a list', 'none'),
  ),
]
