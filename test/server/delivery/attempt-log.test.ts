import { expect, it } from 'vitest'
import { HIDDEN } from '../../../src/contract/platform/activity.js'
import {
  AttemptLog,
  attemptExchange,
  deliveryActivity,
  exchangeOf,
  type MadeAttempt,
} from '../../../src/server/delivery/attempt-log.js'
import { webhookHeaders } from '../../../src/webhook/signature.js'
import { DeliveryScene, SECRET } from '../../support/server/deliveries.js'

const made = (members: Partial<MadeAttempt> = {}): MadeAttempt => ({
  deliveryId: 'dlv_1',
  updateId: 1,
  botId: 'bot_1',
  url: 'https://hooks.example.com/hook',
  headers: {},
  body: Buffer.from('{"update_id":1,"type":"ping","ping":{}}'),
  startedAt: 0,
  endedAt: 0,
  attempt: 1,
  manual: false,
  replay: false,
  result: { statusCode: 200, error: null, durationMs: 1, response: null },
  secrets: [],
  ...members,
})

it('attempt log drops the oldest attempts beyond its number of attempts', { tags: 'replays-by-the-operator/1' }, () => {
  const log = new AttemptLog()
  for (let at = 0; at <= 1_000; at++) log.add(made({ deliveryId: `dlv_${at}` }))
  expect([0, 1, 1_000].map((at) => log.of(`dlv_${at}`).length)).toEqual([0, 1, 1])
})

it('attempt log drops the oldest attempts beyond its number of bytes', { tags: 'replays-by-the-operator/1' }, () => {
  const log = new AttemptLog()
  const body = Buffer.alloc(4 * 1024 * 1024)
  for (let at = 0; at < 5; at++) log.add(made({ deliveryId: `dlv_${at}`, body }))
  expect([0, 1, 2, 3, 4].map((at) => log.of(`dlv_${at}`).length)).toEqual([0, 0, 1, 1, 1])
})

it('attempt log is empty after clear()', () => {
  const log = new AttemptLog()
  log.add(made())
  log.clear()
  expect(log.of('dlv_1')).toEqual([])
})

it('exchange of an attempt hides codes in the response, not in the request', { tags: 'shown-credentials/1' }, () => {
  const code = 'M9S3-46Q3-D25V-T4FJ'
  const body = Buffer.from(`{"reference":"${code}"}`)
  const response = { headers: [['X-Order', `of ${code}`]] as [string, string][], body, bodyBytes: body.length }
  const { request, response: shown } = exchangeOf(
    made({ body, result: { statusCode: 200, error: null, durationMs: 1, response } }),
  )
  expect(request.body).toBe(body.toString('base64'))
  expect(shown).toMatchObject({ headers: [['X-Order', `of ${HIDDEN}`]] })
  expect(Buffer.from(shown?.body ?? '', 'base64').toString()).toBe(`{"reference":"${HIDDEN}"}`)
})

it('activity of an attempt has the type and voucher of the sent update', () => {
  const body = (type: string, payload: object) => Buffer.from(JSON.stringify({ update_id: 1, type, [type]: payload }))
  const activityOf = (sent: Buffer) => deliveryActivity(made({ body: sent }))
  expect(activityOf(body('voucher_issued', { voucher: { id: 'vch_1' } }))).toMatchObject({
    update_type: 'voucher_issued',
    voucher_id: 'vch_1',
    at: '1970-01-01T00:00:00.000Z',
    verdict: null,
  })
  expect(activityOf(body('voucher_redeemed', { redemption: { voucherId: 'vch_2' } }))).toMatchObject({
    voucher_id: 'vch_2',
  })
  expect(activityOf(body('ping', {}))).toMatchObject({ update_type: 'ping', voucher_id: null })
})

it('exchange of an attempt hides secrets that the application wrote into its response', () => {
  const response = { headers: [['X-Secret', `is ${SECRET}`]] as [string, string][], bodyBytes: 30 }
  const body = Buffer.from(`expected ${SECRET}, not ü`)
  const result = { statusCode: 401, error: null, durationMs: 1, response: { ...response, body } }
  const { response: shown } = exchangeOf(made({ result, secrets: [SECRET, 'is'] }))
  expect(shown?.headers).toEqual([['X-Secret', `is ${HIDDEN}`]])
  expect(Buffer.from(shown?.body ?? '', 'base64').toString()).toBe(`expected ${HIDDEN}, not ü`)
})

it('attempt with its response is in the log after the store holds the result', async () => {
  const scene = await DeliveryScene.open()
  const receiver = await scene.receiver()
  receiver.respond = () => ({ status: 403, headers: { 'X-App': 'shop' }, body: 'bad signature' })
  const statuses = new Promise((resolve) => {
    scene.server.deps.attempts.listen(({ updateId }) => resolve(scene.delivery(updateId).then((it) => it.status)))
  })
  await scene.set(receiver)
  const updateId = await scene.ping()
  const { id, attempts } = await scene.untilStatus(updateId, 'failed')
  expect(await statuses).toBe('failed')
  const [attempt, ...others] = scene.server.deps.attempts.of(id)
  expect(others).toEqual([])
  const shown = attemptExchange(attempt as MadeAttempt)
  expect(shown).toMatchObject({
    at: attempts[0]?.started_at,
    attempt: 1,
    manual: false,
    replay: false,
    status: 403,
    error: { code: 'http_status' },
    request: { method: 'POST', url: receiver.url, body: receiver.calls[0]?.body.toString('base64') },
    response: { status: 403, body: Buffer.from('bad signature').toString('base64'), body_bytes: 13 },
  })
  expect(shown.response?.headers).toContainEqual(['X-App', 'shop'])
  const sent = receiver.calls[0]?.headers[webhookHeaders.signature.toLowerCase()]
  expect(shown.request.headers).toContainEqual([webhookHeaders.signature, sent])
})

it('attempt has the first 16 KiB of a response body that is longer', { tags: 'delivery-attempts/2' }, async () => {
  const scene = await DeliveryScene.open()
  const receiver = await scene.receiver()
  receiver.respond = () => ({ status: 200, headers: {}, body: 'x'.repeat(20_000) })
  await scene.set(receiver)
  const { id } = await scene.untilStatus(await scene.ping(), 'delivered')
  const { response } = attemptExchange(scene.server.deps.attempts.of(id)[0] as MadeAttempt)
  expect(Buffer.from(response?.body ?? '', 'base64').toString()).toBe('x'.repeat(16_384))
  expect(response?.body_bytes).toBeGreaterThan(16_384)
})

it('delivery stays delivered if a listener of the log throws', async () => {
  const scene = await DeliveryScene.open()
  const receiver = await scene.receiver()
  scene.server.deps.attempts.listen(() => {
    throw new Error('listener')
  })
  await scene.set(receiver)
  const { attempt_count } = await scene.untilStatus(await scene.ping(), 'delivered')
  expect(attempt_count).toBe(1)
  expect(scene.workerErrors.splice(0)).toMatchObject([{ message: 'listener' }])
})
