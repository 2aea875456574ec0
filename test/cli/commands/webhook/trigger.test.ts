import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { updateTypes } from '../../../../src/contract/updates.js'
import { webhookHeaders } from '../../../../src/webhook/index.js'
import { faultRules, faults } from '../../../../src/workbench/faults.js'
import { post } from '../../../../src/workbench/post.js'
import { cli, refusal, secrets, stub, success, temporaryDir } from '../../../support/cli/cli.js'
import { chat, message } from '../../../support/cli/samples.js'
import { closedPort } from '../../../support/closed-port.js'
import { rawServer } from '../../../support/listen.js'
import { invalidResponses, type RawResponse, rawApp } from '../../../support/server/raw-responses.js'
import { type ReceivedDelivery, webhookReceiver } from '../../../support/webhook/receiver.js'

const secret = 'whsec_test_secret_0123456789abcdef'
const now = Date.UTC(2026, 10, 21, 10)
const seconds = now / 1000
const env = { VOUCHERCTL_WEBHOOK_SECRET: secret }
const trigger = (args: string) => cli(`webhook trigger ${args}`, { env, now })
const receiver = (respond?: (delivery: ReceivedDelivery, index: number) => number) =>
  webhookReceiver(secret, respond, now)
const lines = (stdout: string) =>
  stdout
    .trim()
    .split('\n')
    .map((it) => JSON.parse(it))
const idOf = ({ headers }: ReceivedDelivery) => Number(headers[webhookHeaders.updateId.toLowerCase()])

test.each(updateTypes)('webhook trigger %s sends one valid delivery', { tags: 'synthetic-updates/1' }, async (type) => {
  const { url, received } = await receiver()
  const { exit, stdout, stderr } = await trigger(`${type} --url ${url}/hook --json`)
  expect(received).toMatchObject([{ verdict: { ok: true, body: { type }, timestamp: seconds } }])
  const id = received.map(idOf)[0]
  expect([exit, stderr, Math.floor(Number(id) / 1000)]).toEqual([0, '', seconds])
  expect(lines(stdout)).toEqual([
    {
      time: expect.stringContaining('2026-11-21T10:00:00'),
      update_id: id,
      type,
      fault: null,
      status: 200,
      error: null,
      duration_ms: expect.any(Number),
      as_expected: true,
    },
  ])
})

/** Per fault, the assertions on the deliveries that the receiver got. */
const assertions: Record<(typeof faults)[number], (received: readonly ReceivedDelivery[]) => void> = {
  'bad-signature': ([one]) => expect(one?.verdict).toMatchObject({ ok: false, reason: 'bad_signature' }),
  stale: ([one]) => {
    expect(one?.verdict).toMatchObject({ ok: false, reason: 'stale' })
    expect(one?.headers[webhookHeaders.timestamp.toLowerCase()]).toBe(String(seconds - 600))
  },
  future: ([one]) => {
    expect(one?.verdict).toMatchObject({ ok: false, reason: 'future' })
    expect(one?.headers[webhookHeaders.timestamp.toLowerCase()]).toBe(String(seconds + 600))
  },
  duplicate: ([one, two]) => {
    expect(two?.headers).toEqual(one?.headers)
    expect(two?.body).toEqual(one?.body)
    expect(two?.verdict.ok).toBe(true)
  },
  reorder: (received) => {
    expect(received.every(({ verdict }) => verdict.ok)).toBe(true)
    const [first, second] = received.map(idOf) as [number, number]
    expect(first).toBe(second + 1)
  },
  tamper: ([one]) => {
    expect(one?.verdict).toMatchObject({ ok: false, reason: 'bad_signature' })
    expect(JSON.parse(String(one?.body))).toMatchObject({ update_id: expect.any(Number), tampered: true })
  },
  'swap-update-id': ([one]) => expect(one?.verdict).toMatchObject({ ok: false, reason: 'update_id_mismatch' }),
  'slow-body': ([one]) => {
    expect(one?.verdict.ok).toBe(true)
    expect(one?.pieces.length).toBeGreaterThan(3)
  },
}

const deliveriesOf = { duplicate: 2, reorder: 2 } as Readonly<Partial<Record<string, number>>>
const opposite = { refused: 200, accepted: 400 } as const

test.each(faults)('trigger --fault %s exits 0 if the app is right', { tags: 'synthetic-updates/2' }, async (fault) => {
  const { url, received } = await receiver()
  const { exit, stdout, stderr } = await trigger(`message --url ${url} --fault ${fault} --json`)
  expect([exit, stderr]).toEqual([0, ''])
  expect(received).toHaveLength(deliveriesOf[fault] ?? 1)
  assertions[fault](received)
  for (const line of lines(stdout)) expect(line).toMatchObject({ fault, as_expected: true })
})

test.each(faults)('trigger --fault %s exits 1 if the app is wrong', { tags: 'synthetic-updates/2' }, async (fault) => {
  const { right, because } = faultRules[fault]
  const { url } = await receiver(() => opposite[right])
  const { exit, stdout, stderr } = await trigger(`message --url ${url} --fault ${fault}`)
  expect(exit).toBe(1)
  expect(stdout).toContain(`${fault}: NOT as expected`)
  expect(stderr).toContain(because)
})

test.each(['bad-signature', 'duplicate'])(
  'webhook trigger --fault %s exits 1 if the receiver responds 500',
  async (fault) => {
    const { url } = await receiver(() => 500)
    expect((await trigger(`ping --url ${url} --fault ${fault} --json`)).exit).toBe(1)
  },
)

test.each([
  [200, 0, undefined],
  [299, 0, undefined],
  [302, 8, 'RECEIVER_REFUSED'],
  [401, 8, 'RECEIVER_REFUSED'],
  [500, 9, 'RECEIVER_FAILED'],
])('webhook trigger with a receiver that responds %i exits %i (error code %s)', async (status, exit, code) => {
  const { url, received } = await receiver(() => status)
  const ran = await trigger(`ping --url ${url} --json`)
  expect([ran.exit, received.length]).toEqual([exit, 1])
  expect(lines(ran.stdout)[0]).toMatchObject({ status, as_expected: exit === 0 })
  if (code === undefined) expect(ran.stderr).toBe('')
  else expect(JSON.parse(ran.stderr).error.code).toBe(code)
})

test.each(['status 000', 'status 099', 'status 101 with an upgrade', 'HTTP/0.9'])(
  'webhook trigger exits 9 and reports invalid HTTP if the receiver sends %s',
  { tags: 'application-responses/1' },
  async (name) => {
    const url = await rawApp(() => invalidResponses[name] as RawResponse)
    for (const fault of ['', '--fault bad-signature']) {
      const { exit, stdout, stderr } = await trigger(`ping --url ${url} --json ${fault}`)
      const { code, message } = JSON.parse(stderr).error
      expect([exit, code, lines(stdout)[0].status]).toEqual([9, 'RECEIVER_FAILED', null])
      expect(message).toMatch(/failed: it sent no valid HTTP response \([A-Z_]+\)\.$/)
    }
  },
)

test('webhook trigger --count 3 exits 9 after its first delivery if the receiver is unreachable', async () => {
  const url = `http://127.0.0.1:${await closedPort()}`
  for (const fault of ['', '--fault bad-signature']) {
    const { exit, stdout, stderr } = await trigger(`ping --count 3 --url ${url} --json ${fault}`)
    expect([exit, lines(stdout).length, JSON.parse(stderr).error.code]).toEqual([9, 1, 'NETWORK_ERROR'])
  }
})

test('webhook trigger exits 9 if the receiver closes the connection', { tags: 'synthetic-updates/2' }, async () => {
  const { baseUrl } = await rawServer((socket) => socket.destroy())
  const { exit, stdout } = await trigger(`ping --url ${baseUrl} --json`)
  expect([exit, lines(stdout)[0].error]).toEqual([9, 'ECONNRESET'])
})

test('webhook trigger waits 15 s for a receiver', { tags: 'time-limits/1' }, async () => {
  using timers = vi.spyOn(globalThis, 'setTimeout')
  await post({ url: new URL(`http://127.0.0.1:${await closedPort()}`), headers: {}, body: Buffer.alloc(0) })
  expect(timers.mock.calls.map(([, ms]) => ms)).toContain(15_000)
})

test('webhook trigger --count sends consecutive ids, also after a refusal, and then exits 8', async () => {
  const { url, received } = await receiver((_delivery, index) => (index === 1 ? 422 : 200))
  const { exit, stdout } = await trigger(`message --url ${url} --count 3 --set update_id=41 --json`)
  expect([exit, received.map(idOf)]).toEqual([8, [41, 42, 43]])
  expect(lines(stdout).map((it) => it.status)).toEqual([200, 422, 200])
})

test('webhook trigger --set replaces a member, and --body-file sends a file byte for byte', async () => {
  const { url, received } = await receiver()
  const dir = temporaryDir()
  const bytes = '{ "update_id": 90071992547409931,\r\n "text": "ü" }\n'
  writeFileSync(join(dir, 'body.json'), bytes)
  expect((await trigger(`message --url ${url} --set message.text=Hi`)).exit).toBe(0)
  expect((await trigger(`--url ${url} --body-file ${join(dir, 'body.json')}`)).exit).toBe(0)
  expect(received[0]?.verdict).toMatchObject({ body: { message: { text: 'Hi' } } })
  expect(String(received[1]?.body)).toBe(bytes)
  expect(received[1]?.verdict).toMatchObject({ ok: true, updateId: '90071992547409931' })
})

test.each([
  ['message --set mesage.text=Hi', 2, 'Did you mean message.text?'],
  ['message --set message.message_id=x', 2, 'must be a whole number'],
  ['message --set message.text', 2, 'must be path=value'],
  ['mesage', 2, 'Did you mean message?'],
  ['', 3, 'TYPE or --body-file'],
  ['ping --body-file x', 2, 'without TYPE'],
  ['ping --count 0', 2, '--count must be'],
  ['ping --bot bot_01 --fault stale', 2, '--bot and --fault cannot be combined'],
  ['my_chat_member --bot bot_01', 2, 'voucherctl platform users start'],
  ['voucher_redeemed --bot bot_01', 2, 'voucherctl vouchers redeem'],
  ['message --bot bot_01 --set message.date=1', 2, 'message.from.id, message.text can be set'],
])('webhook trigger %s exits %i and sends nothing', { tags: 'synthetic-updates/1' }, async (args, exit, words) => {
  const { url, received } = await receiver()
  const target = args.includes('--bot') ? `--base-url ${url}` : `--url ${url}`
  const ran = await trigger(`${args} ${target}`)
  expect([ran.exit, ran.stdout, received]).toEqual([exit, '', []])
  expect(ran.stderr).toContain(words)
})

test.each(['ftp://127.0.0.1/', 'here', 'http://user:pw@127.0.0.1/'])(
  'webhook trigger --url %s exits 2',
  async (url) => {
    expect((await trigger(`ping --url ${url}`)).exit).toBe(2)
  },
)

test('webhook trigger exits 3 without a secret and sends nothing', async () => {
  const { url, received } = await receiver()
  const { exit, stderr } = await cli(`webhook trigger ping --url ${url}`)
  expect([exit, received]).toEqual([3, []])
  expect(stderr).toContain('VOUCHERCTL_WEBHOOK_SECRET')
})

test('webhook trigger --dry-run prints the request and sends nothing', async () => {
  const { url, received } = await receiver()
  const { exit, stdout } = await trigger(`ping --url ${url} --fault duplicate --dry-run`)
  expect([exit, received]).toEqual([0, []])
  expect(stdout).toContain(`POST ${url}/`)
  expect(stdout).not.toContain(secret)
})

test('webhook trigger --bot creates an update by the operator API', { tags: 'synthetic-updates/1' }, async () => {
  const { baseUrl, received } = await stub(() => success({ update_id: 7, type: 'inline_query' }))
  const args = 'webhook trigger inline_query --bot bot_01 --set inline_query.query=tea --count 2 --json'
  const { exit, stdout } = await cli(`${args} --base-url ${baseUrl}`, { env: secrets })
  expect(exit).toBe(0)
  expect(received.map(({ path, body }) => [path, body])).toEqual(
    Array(2).fill([
      '/_platform/v1/bots/bot_01/updates',
      { type: 'inline_query', payload: { query: 'tea', from: { id: 'user-42' } } },
    ]),
  )
  expect(lines(stdout)[1]).toMatchObject({ bot_id: 'bot_01', type: 'inline_query', update_id: 7 })
})

test('webhook trigger message --bot starts a chat and sends a message as the user of the chat', async () => {
  const { baseUrl, received } = await stub(({ path }) => success(path.endsWith('/chats') ? chat : message))
  const args = ['webhook', 'trigger', 'message', '--bot', 'bot_01', '--set', 'message.text=Two words']
  const { exit, stdout } = await cli([...args, '--base-url', baseUrl], { env: secrets })
  expect(exit).toBe(0)
  expect(received.map(({ path, body }) => [path, body])).toEqual([
    ['/_platform/v1/chats', { bot_id: 'bot_01', user_id: 'user-42' }],
    [`/_platform/v1/chats/${chat.id}/messages`, { text: 'Two words' }],
  ])
  expect(stdout).toContain('made for bot_01')
})

test('webhook trigger --bot exits 5 if the server responds that the bot does not exist', async () => {
  const { baseUrl } = await stub(() => refusal(404, 'BOT_NOT_FOUND'))
  const { exit } = await cli(`webhook trigger ping --bot bot_01 --base-url ${baseUrl}`, { env: secrets })
  expect(exit).toBe(5)
})
