import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Reference, startReference } from '../support/conform/conform.js'
import { newRecorder, parsed, recordedSession } from '../support/conform/recordings.js'
import { withOtherEnd } from '../support/with-other-end.js'

let reference: Reference
beforeAll(async () => {
  reference = await startReference()
})
afterAll(() => reference.close())

const order = () => ({
  template_id: reference.offer.template,
  external_issue_id: 'conform-a1b2c3d4-1',
  recipient_user_id: 'user-1',
})
const issue = (send: ReturnType<typeof recordedSession>['send'], as = 'token') =>
  send('POST', 'open-platform/vouchers/issue', order(), { as, 'idempotency-key': 'conform-a1b2c3d4-2' })
const folded = (text: string) =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '')

test('a recording holds no credential, code, token or secret, in no form', async () => {
  const { send, text } = recordedSession(reference)
  const { credentials } = (await issue(send)).data
  const [code, qr] = credentials.map((it: { value: string }) => it.value)
  await send('POST', 'open-platform/vouchers/verify', { credential: { type: 'redeem_code', value: code } })
  await send('POST', 'open-platform/vouchers/verify', {
    credential: { type: 'redeem_code', value: code.toLowerCase().replaceAll('-', ' ') },
  })
  const fullWidth = code.replace(/[0-9A-Z]/g, (it: string) => String.fromCharCode(it.charCodeAt(0) + 0xfee0))
  await send('POST', 'open-platform/vouchers/verify', { credential: { type: 'redeem_code', value: fullWidth } })
  const app = (await send('POST', 'open-platform/applications', { name: 'conform a1b2c3d4' }, { as: 'jwt' })).data
  const tokenInput = { name: 'conform', scopes: ['vouchers:read'], expires_in_days: 1 }
  const { token } = (await send('POST', `open-platform/applications/${app.id}/tokens`, tokenInput, { as: 'jwt' })).data
  await send('GET', 'open-platform/vouchers/templates', undefined, { as: token })
  await send('GET', 'open-platform/vouchers/templates', undefined, { as: withOtherEnd(token) })
  const { jwt } = reference.offer.credentials
  await send('GET', 'bots/my', undefined, { as: `${jwt?.slice(0, -4)}abcd` })
  const webhook = { url: 'https://203.0.113.7/hook', secret_token: 'conform-a1b2c3d4-secret-77' }
  await send('POST', `bots/my/${reference.offer.botId}/webhook`, webhook, { as: 'jwt' })
  await send('DELETE', `bots/my/${reference.offer.botId}/webhook`, undefined, { as: 'jwt' })
  await send('GET', 'bots/my', undefined, { as: 'bot' })

  const file = text()
  const canaries = [
    code,
    qr,
    token,
    jwt?.slice(-24),
    webhook.secret_token,
    ...Object.values(reference.offer.credentials),
  ]
  for (const canary of canaries) expect(folded(file)).not.toContain(folded(canary))
  for (const name of ['CODE', 'QR_TOKEN', 'TOKEN', 'VOUCHERCTL_TOKEN', 'VOUCHERCTL_JWT', 'VOUCHERCTL_BOT_TOKEN']) {
    expect(file).toContain(`\${${name}}`)
  }
  expect(file).toContain('${WEBHOOK_SECRET:aaaaaaa-a9a9a9a9-aaaaaa-99}')
  const { exchanges } = parsed(file)
  const parts = exchanges.filter((it) => 'not_replayable' in it)
  expect(parts.map((it) => it.exchange)).toEqual([3, 4, 8, 9])
  expect(parts[0]).toMatchObject({ not_replayable: 'It sends a part of a secret, which a recording does not hold.' })
})

test('a recording names what the user offered, the run, and values of earlier responses', async () => {
  const { send, text } = recordedSession(reference)
  const voucher = (await issue(send)).data
  const { value } = voucher.credentials[0]
  const redemption = (
    await send(
      'POST',
      'open-platform/vouchers/redeem',
      { credential: { type: 'redeem_code', value } },
      { 'idempotency-key': 'conform-a1b2c3d4-3' },
    )
  ).data
  await send('GET', `open-platform/vouchers/redemptions/${redemption.id}`)
  const [issued, redeemed, read] = parsed(text()).exchanges
  expect(issued?.request).toMatchObject({
    path: '/api/v1/open-platform/vouchers/issue',
    headers: { authorization: 'Bearer ${VOUCHERCTL_TOKEN}', 'idempotency-key': 'conform-${RUN}-2' },
    body: '{"template_id":"${TEMPLATE}","external_issue_id":"conform-${RUN}-1","recipient_user_id":"user-1"}',
  })
  expect(redeemed?.request).toMatchObject({ body: '{"credential":{"type":"redeem_code","value":"${CODE}"}}' })
  expect(read?.request?.path).toBe('/api/v1/open-platform/vouchers/redemptions/${2#/data/id}')
})

test('a recording binds the offset of a poll to the update after which it continues', async () => {
  const { send, text } = recordedSession(reference)
  await issue(send)
  await send('POST', 'bots/getUpdates', { offset: 0 }, { as: 'bot' })
  const { recorder, text: other } = newRecorder(reference)
  const call = { probe: 'updates/one', sentAt: performance.now(), pausedMs: 0, isConcurrent: false }
  const request = { method: 'POST', path: '/api/v1/bots/getUpdates', headers: {}, body: '{}' }
  const json = { success: true, data: { items: [{ update_id: 41 }, { update_id: 42 }] } }
  const response = { status: 200, headers: {}, text: JSON.stringify(json), json }
  recorder.record({ ...call, request, response })
  recorder.record({ ...call, request: { ...request, body: '{"offset":43,"limit":42}' }, response })
  expect(parsed(other()).exchanges[1]?.request).toMatchObject({
    body: '{"offset":${1#/data/items/1/update_id+1},"limit":42}',
  })
  expect(parsed(text()).exchanges).toHaveLength(2)
})

test('a recording names what it does not hold: raw bytes, encrypted and concurrent calls', async () => {
  const { recorder, text } = newRecorder(reference)
  const call = {
    probe: 'sessions/one',
    request: {
      method: 'POST',
      path: '/api/v1/secure/session',
      headers: {},
      body: '{"public_key":"secret-of-a-session"}',
    },
    response: { status: 200, headers: {}, text: '', json: { salt: 'salt-of-a-session' } },
    sentAt: performance.now(),
    pausedMs: 0,
    isConcurrent: false,
  }
  recorder.raw('connections/one')
  recorder.record(call)
  recorder.record({ ...call, request: { ...call.request, path: '/api/v1/bots/sendMessage' }, isConcurrent: true })
  const { header, exchanges } = parsed(text())
  expect(header).toMatchObject({ voucherctl_recording: 1, run: 'a1b2c3d4', base_url: reference.baseUrl })
  expect(header.not_recorded).toEqual([expect.stringContaining('bytes'), expect.stringContaining('encrypted')])
  expect(exchanges.map((it) => 'not_replayable' in it)).toEqual([true, true, true])
  expect(text()).not.toMatch(/(?:secret|salt)-of-a-session/)
})
