import type { RelayedDelivery } from '../../webhook/delivery-relay.js'
import {
  any,
  type Data,
  type Deviant,
  type Deviate,
  deviants,
  post,
  returnsData,
  sendsBody,
  success,
} from '../deviants.js'

/** Accepts the webhook URLs that contain a text. */
const acceptsUrl =
  (text: string): Deviate =>
  (plain) =>
  async (request) =>
    request.method === 'POST' && /webhook$/i.test(request.path) && request.body?.includes(text)
      ? success({ delivery_mode: 'webhook' })
      : plain(request)

/** Changes `data` of all successes. */
const data = (change: (data: Data) => object): Deviate => returnsData(any, (data) => ({ ...data, ...change(data) }))

/** Changes the records of deliveries in lists. */
const records = (change: (record: Data) => object): Deviate =>
  data(({ items }) => (Array.isArray(items) ? { items: items.map((it: Data) => ({ ...it, ...change(it) })) } : {}))

const later = ({ next_attempt_at: at }: Data, ms: number) =>
  typeof at === 'string' ? { next_attempt_at: new Date(Date.parse(at) + ms).toISOString() } : {}

/** Drops waiting updates when a webhook is set for the first time. */
const dropsWaiting: Deviate = (plain) => {
  const drops = sendsBody(post('/webhook'), (it) => ({ drop_pending_updates: true, ...it }))(plain)
  let isSet = false
  return async (request) => {
    if (!request.path.split('?')[0]?.endsWith('/webhook')) return plain(request)
    const response = await (isSet ? plain : drops)(request)
    if (response.status === 200) isSet = request.method === 'POST'
    return response
  }
}

/** Refuses the deletion of a webhook that is not set. */
const notIdempotent: Deviate = (plain) => {
  let isSet = false
  return async (request) => {
    const isWebhook = /webhook$/i.test(request.path.split('?')[0] ?? '')
    const response = await plain(request)
    if (!isWebhook || response.status !== 200) return response
    if (request.method === 'DELETE' && !isSet) return { status: 404, headers: {}, body: '{"success":false}' }
    isSet = request.method === 'POST'
    return response
  }
}

const header = (name: string, change: (value: string) => string) => (delivery: RelayedDelivery) => ({
  ...delivery,
  headers: { ...delivery.headers, [name]: change(String(delivery.headers[name])) },
})

/** Sends a body whose letters outside of ASCII are escaped after it was signed. */
const escaped = (delivery: RelayedDelivery) => {
  const escape = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  const body = Buffer.from(delivery.body.toString('utf8').replaceAll(/[^\0-\x7f]/g, escape))
  return { headers: { ...delivery.headers, 'content-length': String(body.length) }, body }
}

const reversed = () => {
  let left = 700
  return (delivery: RelayedDelivery) => {
    left -= 100
    return { ...delivery, laterMs: Math.max(left, 0) }
  }
}

/** Deviant servers whose requests or responses differ, by the probes that report them. */
export const webhooks = deviants({
  'webhook-urls/http webhook-settings/same-rules webhook-urls/url-before-conflict': acceptsUrl('"http://hooks'),
  'webhook-urls/ipv4-169-254-169-254': acceptsUrl('169.254.169.254'),
  'webhook-urls/ipv6-ffff-10-1-2-3': acceptsUrl('[::ffff:10.1.2.3]'),
  'webhook-settings/max-connections': data(({ max_connections }) =>
    max_connections === 40 ? { max_connections: 100 } : {},
  ),
  'webhook-settings/waiting-update': dropsWaiting,
  'webhook-settings/grace': sendsBody(post('/webhook'), ({ secret_grace_seconds: _, ...it }) =>
    _ === 600 ? it : { ...it, ...(_ === undefined ? {} : { secret_grace_seconds: _ }) },
  ),
  'webhook-removal/idempotent': notIdempotent,
  'webhook-removal/old-attempts': records((record) =>
    record.attempt_count === 1 && record.status === 'delivered' && record.attempts.length === 2
      ? { attempt_count: 2 }
      : {},
  ),
  'retry-schedule/next-attempt': records((it) => later(it, 240_000)),
  'retry-schedule/retry-after': records((it) => (it.last_status_code === 503 ? later(it, -50_000) : {})),
  'delivery-attempts/any-2xx': records((it) => (it.last_status_code === 299 ? { status: 'failed' } : {})),
  'deliveries/failed deliveries/statuses': records((it) => (it.status === 'failed' ? { status: 'retrying' } : {})),
  'manual-retries/delivered': sendsBody(post('/retry'), () => ({ force: true })),
})

/** Deviant servers whose deliveries differ. */
export const relayed: readonly (readonly [
  probe: Deviant[0],
  change: (delivery: RelayedDelivery) => RelayedDelivery,
])[] = [
  ['signatures/signature signatures/signature-of-bytes', header('x-platform-signature-v2', (it) => it.toUpperCase())],
  ['signatures/signature-of-bytes', escaped],
  ['signatures/update-id', header('x-platform-update-id', (it) => `0${it}`)],
  ['delivery-order/lowest-first', reversed()],
]
