import { contract } from '../../../contract/index.js'
import { deliveryStatuses } from '../../../contract/webhook.js'
import { DEFAULT_TOLERANCE_SECONDS, signatureOf, webhookHeaders } from '../../../webhook/signature.js'
import { voucher } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'
import type { Arrival } from '../../receiver.js'
import {
  ARRIVAL_MS,
  arrivalsWith,
  delivered,
  deliveryRule,
  failed,
  firstArrival,
  heldResponse,
  newEvent,
  noArrival,
  recordOf,
  settled,
  target,
  updateIdOf,
  webhook,
} from './hook.js'

const signature = probesOf('signatures', { kind: 'credential', ...deliveryRule })
const schedule = probesOf('retry-schedule', { ...deliveryRule })
const attempt = probesOf('delivery-attempts', { ...deliveryRule })
const records = probesOf('deliveries', { needs: ['jwt', 'bot id'] })
const deliveries = records.with(deliveryRule)

/** Headers of a delivery, by default of the shared one. */
async function signed(run: ProbeContext, other?: Arrival) {
  const arrival = other ?? (await delivered(run)).arrival
  const valueOf = (name: keyof typeof webhookHeaders) => arrival.headers[webhookHeaders[name].toLowerCase()]
  return { arrival, signature: valueOf('signature'), timestamp: valueOf('timestamp'), updateId: valueOf('updateId') }
}

/** Requires the signature of the bytes that arrived. */
async function isSigned(run: ProbeContext, other?: Arrival): Promise<void> {
  const { arrival, signature: received, timestamp } = await signed(run, other)
  if (received === undefined || timestamp === undefined || !/^\d+$/.test(String(timestamp))) {
    run.notApplicable('Needs a signature and a timestamp.')
  }
  const { secret } = await webhook(run)
  const expected = signatureOf(arrival.rawBody, secret, String(timestamp))
  run.holds(received === expected, expected, received)
}

const FIRST_DELAY_MS = 60_000
/** Maximum difference in ms between a recorded time and its retry. */
const ROUNDING_MS = 2_000

/** Ms between the end of a failed attempt and the next attempt, by the delivery record. */
function delayOf(run: ProbeContext, { attempts, next_attempt_at: next }: Awaited<ReturnType<typeof settled>>): number {
  const last = attempts.at(-1)
  if (last === undefined || next === null) return run.notApplicable('Needs a failed delivery with a next attempt.')
  return Date.parse(next) - Date.parse(last.started_at) - last.duration_ms
}

const isFirstDelay = (run: ProbeContext, ms: number) =>
  run.holds(Math.abs(ms - FIRST_DELAY_MS) <= ROUNDING_MS, 'the next attempt after 60 s', `after ${ms / 1000} s`)

export const signatures = [
  signature.specified(
    1,
    'headers',
    'A delivery has the headers X-Platform-Signature-V2, X-Platform-Timestamp and X-Platform-Update-Id.',
    async (run) => {
      const { arrival } = await signed(run)
      const missing = Object.values(webhookHeaders).filter((name) => arrival.headers[name.toLowerCase()] === undefined)
      run.equals('missing headers', missing, [])
    },
  ),
  signature.partly(
    2,
    'signature',
    'The signature is HMAC-SHA256 of timestamp, dot and raw body with the secret, in 64 lower-case hex digits.',
    (run) => isSigned(run),
  ),
  signature.partly(1, 'signature-of-bytes', 'The signature covers the bytes of letters beyond ASCII.', async (run) => {
    await delivered(run)
    const metadata = { origin: 'conform: é, \u2615, \u{1f600}' }
    return isSigned(run, (await firstArrival(run, await webhook(run), undefined, { metadata })) ?? noArrival(run))
  }),
  signature(2, 'timestamp', 'The timestamp is the time of the attempt in Unix seconds.', async (run) => {
    const { timestamp } = await signed(run)
    if (timestamp === undefined) run.notApplicable('Needs the header X-Platform-Timestamp.')
    const isNear = Math.abs(Number(timestamp) - Date.now() / 1000) <= DEFAULT_TOLERANCE_SECONDS
    run.holds(/^\d+$/.test(String(timestamp)) && isNear, 'Unix seconds, at most 300 s from now', timestamp)
  }),
  signature.partly(3, 'update-id', 'X-Platform-Update-Id is the update_id of the body.', async (run) => {
    const { arrival, updateId } = await signed(run)
    if (updateId === undefined) run.notApplicable('Needs the header X-Platform-Update-Id.')
    run.equals('update id', updateId, String(updateIdOf(arrival)))
  }),
]

export const retrySchedule = [
  schedule(2, 'first-attempt', 'The first attempt is immediate.', async (run) => {
    const own = await webhook(run)
    const { botId } = await target(run)
    const list = contract.webhook.deliveries
    const totalOf = async () => run.needs(await run.call(list, { botId, limit: 1 }), 'a list').pagination.total
    const before = await totalOf()
    const arrival = await firstArrival(run, own)
    if (arrival === undefined && (await totalOf()) === before) noArrival(run)
    run.holds(arrival !== undefined, `an attempt within ${ARRIVAL_MS / 1000} s`, 'a delivery without an attempt')
  }),
  schedule.specified(
    1,
    'next-attempt',
    'The next attempt is due 60 s after the end of the first failed one.',
    async (run) => isFirstDelay(run, delayOf(run, (await failed(run)).record)),
  ),
  schedule.with({ vouchers: 3, waitsMs: ARRIVAL_MS })(
    2,
    'retry-after',
    'Retry-After of a receiver is ignored.',
    async (run) => {
      const usual = delayOf(run, (await failed(run)).record)
      const own = await webhook(run)
      const { updateId } = await newEvent(run, own, () => ({ status: 503, headers: { 'retry-after': '10' } }))
      const delay = delayOf(run, await settled(run, updateId))
      run.holds(Math.abs(delay - usual) <= ROUNDING_MS, `${usual / 1000} s as without it`, `${delay / 1000} s`)
    },
  ),
  schedule
    .with({ vouchers: 1, waitsMs: FIRST_DELAY_MS + ARRIVAL_MS })
    .specified(1, 'second-attempt', 'The second attempt follows 60 s after the first failed one.', async (run) => {
      const own = await webhook(run)
      own.receiver.respond(own.end, () => 500)
      const { id } = await voucher(run)
      const [first] = await arrivalsWith(own, id)
      if (first === undefined) return noArrival(run)
      own.receiver.respond(own.end, () => 200)
      const [, second] = await arrivalsWith(own, id, 2, FIRST_DELAY_MS + ARRIVAL_MS)
      if (second === undefined) return run.holds(false, 'a second attempt after 60 s', 'none after 63 s')
      isFirstDelay(run, second.at - first.at)
    }),
]

const RESPONSE_LIMIT_MS = 15_000

export const deliveryAttempts = [
  attempt(2, 'any-2xx', 'A response of any 2xx status is a success, such as 299.', async (run) => {
    const { updateId } = await newEvent(run, await webhook(run), () => 299)
    run.equals('status', (await settled(run, updateId)).status, 'delivered')
  }),
  attempt(2, 'status-of-500', 'A response of 500 is no success.', async (run) => {
    const { status } = (await failed(run)).record
    run.holds(status !== 'delivered', 'another status than delivered', status)
  }),
  attempt
    .with({ vouchers: 1, waitsMs: RESPONSE_LIMIT_MS + ARRIVAL_MS })
    .specified(1, 'time-limit', 'An attempt without a response fails after 15 s.', async (run) => {
      const { reply, release } = heldResponse(200)
      const own = await webhook(run)
      own.receiver.respond(own.end, reply)
      try {
        const { id } = await voucher(run)
        const [arrival] = await arrivalsWith(own, id)
        if (arrival === undefined) return noArrival(run)
        const ended = (record: { readonly attempts: readonly unknown[] }) => record.attempts.length > 0
        const record = await recordOf(run, updateIdOf(arrival), ended, RESPONSE_LIMIT_MS + ARRIVAL_MS)
        const [made] = record?.attempts ?? []
        const ms = made?.duration_ms ?? 0
        const fits = made !== undefined && made.error !== null && Math.abs(ms - RESPONSE_LIMIT_MS) <= 1_000
        run.holds(fits, 'an attempt that failed after 15 s', made === undefined ? 'no failed attempt' : `${ms} ms`)
      } finally {
        release()
      }
    }),
]

export const deliveryRecords = [
  deliveries(2, 'while-set', 'An update that is created while a webhook is set has a delivery.', async (run) => {
    const { updateId } = await delivered(run)
    run.holds((await recordOf(run, updateId)) !== undefined, `a delivery of update ${updateId}`, 'none')
  }),
  deliveries.specified(1, 'failed', 'A delivery whose attempt failed is failed, and a retry is due.', async (run) => {
    const { record } = await failed(run)
    if (record.status === 'delivered') run.notApplicable('Needs a platform for which 500 is no success.')
    const isDue = record.status === 'failed' && record.next_attempt_at !== null
    run.holds(isDue, 'failed, with a next attempt', record.status)
  }),
  deliveries(2, 'attempts', 'The record of a delivery lists its attempts.', async (run) => {
    const { record } = await failed(run)
    const codes = record.attempts.map(({ status_code }) => status_code)
    run.equals('status codes of the attempts', codes, [500])
  }),
  records.partly(2, 'statuses', 'A delivery has one of six statuses.', async (run) => {
    const { botId } = await target(run)
    const list = run.needs(await run.call(contract.webhook.deliveries, { botId, limit: 100 }), 'a list of deliveries')
    const others = list.items.map(({ status }) => status).filter((status) => !deliveryStatuses.includes(status))
    run.equals('other statuses', others, [])
  }),
]
