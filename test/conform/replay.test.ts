import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Transport } from '../../src/client/transport.js'
import { shiftTimes } from '../../src/conform/replay.js'
import { otherSeed, type Reference, startReference } from '../support/conform/conform.js'
import { newRecorder, recordedSession, replayed } from '../support/conform/recordings.js'

let reference: Reference
let other: Reference
/** A session in which each call builds on the ones before. */
let session: string
beforeAll(async () => {
  reference = await startReference()
  other = await startReference({ seed: otherSeed })
  session = await record()
})
afterAll(async () => {
  await reference.close()
  await other.close()
})

const day = 86_400_000
const now = Date.now()
const later = (days: number) => new Date(now + days * day).toISOString()

async function record(): Promise<string> {
  const { send, text } = recordedSession(reference)
  const { botId, template, chat } = reference.offer
  const key = (n: number) => ({ 'idempotency-key': `conform-a1b2c3d4-${n}` })
  const order = { template_id: template, external_issue_id: 'conform-a1b2c3d4-9', recipient_user_id: 'user-1' }
  const { credentials } = (await send('POST', 'open-platform/vouchers/issue', order, key(1))).data
  const credential = { type: 'redeem_code', value: credentials[0].value }
  const redemption = (await send('POST', 'open-platform/vouchers/redeem', { credential }, key(2))).data
  await send('GET', `open-platform/vouchers/redemptions/${redemption.id}`)
  await send('POST', `open-platform/vouchers/redemptions/${redemption.id}/reverse`, {}, key(3))
  const appInput = { name: 'conform a1b2c3d4' }
  const app = (await send('POST', 'open-platform/applications', appInput, { as: 'jwt' })).data
  const input = { name: 'conform', scopes: ['vouchers:read', 'vouchers:templates:write'] }
  const { token } = (await send('POST', `open-platform/applications/${app.id}/tokens`, input, { as: 'jwt' })).data
  const draft = {
    external_template_id: 'conform-a1b2c3d4-4',
    name: 'conform',
    type: 'gift',
    issuer_name: 'conform',
    fulfiller_name: 'conform',
    fulfillment_category: 'offline_service',
    acquisition_source: 'free_claim',
    validity: { type: 'fixed', valid_from: later(1), valid_until: later(2) },
    issue_limit: 1,
  }
  await send('POST', 'open-platform/vouchers/templates', draft, { as: token })
  const webhook = { url: 'https://203.0.113.7/hook', secret_token: 'conform-a1b2c3d4-secret' }
  await send('POST', `bots/my/${botId}/webhook`, webhook, { as: 'jwt' })
  await send('DELETE', `bots/my/${botId}/webhook`, undefined, { as: 'jwt' })
  await send('POST', 'bots/sendMessage', { chat_id: chat, text: 'conform' }, { as: 'bot' })
  await send('GET', `bots/my/${botId}`, undefined, { as: 'jwt' })
  await send('GET', 'open-platform/vouchers/templates?limit=0')
  return text()
}

const graded = (results: Awaited<ReturnType<typeof replayed>>) =>
  results
    .filter((it) => it.result !== 'same')
    .map(({ exchange, differences, reason }) => ({ exchange, differences, reason }))

/** Changes the responses to requests with this in their path. */
const changed =
  (part: string, change: (text: string) => string, status?: number) =>
  (send: Transport): Transport =>
  async (request) => {
    const response = await send(request)
    if (!request.path.includes(part)) return response
    return { ...response, status: status ?? response.status, body: change(response.body) }
  }

/** The call of getUpdates: its response depends on what the bot has received before. */
const notCompared = [{ exchange: 9, differences: [], reason: expect.stringContaining('updates and deliveries') }]

test('a recording replays without a difference on a server with other ids and credentials', async () => {
  expect(graded(await replayed(other, session))).toEqual(notCompared)
})

test('a recording replays twice on one server: each replay has names of its own', async () => {
  expect(graded(await replayed(other, session))).toEqual(notCompared)
})

test('a recording of last year replays: times near its run keep their distance', async () => {
  const lastYear = new Date(now - 365 * day)
  const [head = '', ...lines] = session.split('\n')
  const old = [head.replace(/"recorded_at":"[^"]+"/, `"recorded_at":"${lastYear.toISOString()}"`), ...lines]
    .join('\n')
    .replace(later(1).slice(0, 10), new Date(lastYear.getTime() + day).toISOString().slice(0, 10))
    .replace(later(2).slice(0, 10), new Date(lastYear.getTime() + 2 * day).toISOString().slice(0, 10))
  expect(graded(await replayed(other, old))).toEqual(notCompared)
})

test('times far from the run and texts that are no times stay as they are', () => {
  const run = Date.parse('2026-11-21T10:00:00Z')
  const text = '"2026-11-22T10:00:00+02:00" "9999-12-31T23:59:59Z" "2026-02-30T10:00:00Z" "2026-11-22"'
  expect(shiftTimes(text, run, run + 10 * day)).toBe(text.replace('2026-11-22T', '2026-12-02T'))
})

test.each([
  ['another status', '/vouchers/issue', (it: string) => it, 200, { at: 'status', recorded: '201', replayed: '200' }],
  [
    'a member that is missing',
    '/vouchers/redeem',
    (it: string) => it.replace('"redeemedAt"', '"redeemed_at"'),
    undefined,
    { at: '/data/redeemedAt', recorded: 'string', replayed: null },
  ],
  [
    'a member of another type',
    '/vouchers/issue',
    (it: string) => it.replace('"redeemable":true', '"redeemable":1'),
    undefined,
    { at: '/data/redeemable', recorded: 'boolean', replayed: 'number' },
  ],
  [
    'another word',
    '/reverse',
    (it: string) => it.replace('"status":"reversed"', '"status":"undone"'),
    undefined,
    { at: '/data/status', recorded: 'reversed', replayed: 'undone' },
  ],
  [
    'another failure code',
    'limit=0',
    (it: string) => it.replace('VALIDATION_FAILED', 'BAD_LIMIT'),
    undefined,
    { at: '/code', recorded: 'VALIDATION_FAILED', replayed: 'BAD_LIMIT' },
  ],
])('a replay reports %s of the platform', async (_, part, change, status, difference) => {
  const results = await replayed(other, session, { deviate: changed(part, change, status) })
  expect(results.find((it) => it.result === 'differs')?.differences).toContainEqual(difference)
})

test('after a refusal in place of a success the rest of the probe is not replayable', async () => {
  const refusal =
    '{"success":false,"code":"VOUCHER_EXPIRED","message":"x","retryable":false,"details":{},"requestId":"r"}'
  const results = await replayed(other, session, { deviate: changed('/vouchers/redeem', () => refusal, 409) })
  expect(results.map((it) => it.result).slice(0, 3)).toEqual(['same', 'differs', 'not_replayable'])
  expect(results[1]?.differences).toEqual([{ at: 'status', recorded: '200', replayed: '409 VOUCHER_EXPIRED' }])
  expect(results[2]?.reason).toBe('It follows a call of its probe whose status differs.')
})

test('an exchange without what the user offered is not replayable, with the reason', async () => {
  const [first, second] = await replayed(other, session, { template: undefined })
  expect(first).toMatchObject({ result: 'not_replayable', reason: expect.stringContaining('--template ID') })
  expect(second?.reason).toBe('It follows a call of its probe that is not replayable.')
  const [withoutToken] = await replayed(other, session, { credentials: {} })
  expect(withoutToken?.reason).toContain('VOUCHERCTL_TOKEN')
})

test('an exchange that sends a value which its platform did not return is not replayable', async () => {
  const separate = session.replace(/("exchange":3,"probe":")[^"]+/, '$1session/two')
  const hidden = changed('/vouchers/redeem', (it) => it.replace('"id":"rdm_', '"identity":"rdm_'))
  const results = await replayed(other, separate, { deviate: hidden })
  expect(results[2]?.reason).toBe('Exchange 2 returned nothing at /data/id, which it sends.')
})

test('a recorded poll is repeated until the platform responds as recorded', async () => {
  const { recorder, text } = newRecorder(reference)
  const responseOf = (status: string) => {
    const json = { success: true, data: { items: [{ id: 'tpl_1', status }] } }
    return { status: 200, headers: {}, text: JSON.stringify(json), json }
  }
  const request = {
    method: 'GET',
    path: '/api/v1/open-platform/vouchers/templates?external_template_id=conform-a1b2c3d4-1',
    headers: {},
  }
  const call = { probe: 'templates/one', request, sentAt: performance.now(), isConcurrent: false }
  recorder.record({ ...call, response: responseOf('reviewing'), pausedMs: 0 })
  recorder.record({ ...call, response: responseOf('active'), pausedMs: 500 })
  let calls = 0
  const results = await replayed(other, text(), {
    deviate: () => async () => {
      calls += 1
      return { status: 200, headers: {}, body: responseOf(calls < 4 ? 'reviewing' : 'active').text }
    },
  })
  expect(results.map((it) => it.result)).toEqual(['not_replayable', 'same'])
  expect(results[0]?.reason).toBe('Exchange 2 repeats it.')
  expect(calls).toBe(4)
})
