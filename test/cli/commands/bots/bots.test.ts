import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { chart } from '../../../../src/cli/commands/bots/metrics.js'
import { timeline } from '../../../../src/cli/commands/webhook/deliveries.js'
import { UTC } from '../../../../src/cli/host/host.js'
import { templateBody } from '../../../../src/contract/openapi/template-body.js'
import { startServer } from '../../../../src/testing/index.js'
import { cli, refusal, secrets, stub, success, temporaryDir } from '../../../support/cli/cli.js'
import {
  bot,
  botDetail,
  botMetrics,
  chat,
  delivery,
  issuedVoucher,
  template,
  update,
} from '../../../support/cli/samples.js'
import { rawServer } from '../../../support/listen.js'

const stored = (home: string) => JSON.parse(readFileSync(join(home, '.config', 'voucherctl', 'config.json'), 'utf8'))
const env = secrets
const FRESH = 'sbot_FRESHtokenFRESHtokenFRESHtoken1234567'

test.each([
  ['bots get bot_01 --save', { ...botDetail, one_time_token: FRESH }],
  ['bots regenerate-token bot_01 --save --yes', { bot_id: 'bot_01', one_time_token: FRESH, token_prefix: 'sbot_FRE' }],
])('the command %s stores the bot token and does not print it', { tags: 'confirmations/3' }, async (command, data) => {
  const home = temporaryDir()
  const { baseUrl } = await stub(() => success(data))
  const ran = await cli(`${command} --json --base-url ${baseUrl}`, { env, home })
  expect(ran.exit).toBe(0)
  expect(ran.stdout + ran.stderr).not.toContain(FRESH)
  expect(stored(home).profiles.default.credentials.bot).toEqual({ value: FRESH, origin: baseUrl })
})

test('bots get prints the one-time token and warns that it is not shown again', async () => {
  const { baseUrl } = await stub(() => success({ ...botDetail, one_time_token: FRESH }))
  const ran = await cli(`bots get bot_01 --base-url ${baseUrl}`, { env })
  expect(ran.stdout).toContain(FRESH)
  expect(ran.stdout).toContain('not shown again')
})

test.each([
  [{ review_status: 'pending', has_token: false, token_prefix: null }, 'comes with the approval'],
  [{ has_token: true, token_prefix: 'sbot_OTH' }, 'voucherctl bots regenerate-token bot_01 --save'],
])('bots get --save for a bot with %j warns that it stored no token and says what to do', async (members, said) => {
  const { baseUrl } = await stub(() => success({ ...botDetail, ...members }))
  const ran = await cli(`bots get bot_01 --save --json --base-url ${baseUrl}`, { env })
  expect([ran.exit, JSON.parse(ran.stdout).id]).toEqual([0, botDetail.id])
  expect(ran.stderr).toContain('warning: no token was stored')
  expect(ran.stderr).toContain(said)
})

test('bots get --save prints no warning if the profile already holds the token of the bot', async () => {
  const home = temporaryDir()
  const members = { has_token: true, token_prefix: FRESH.slice(0, 8) }
  const { baseUrl } = await stub((_request, index) =>
    success({ ...botDetail, ...members, ...(index === 0 ? { one_time_token: FRESH } : {}) }),
  )
  await cli(`bots get bot_01 --save --base-url ${baseUrl}`, { env, home })
  expect((await cli(`bots get bot_01 --save --base-url ${baseUrl}`, { env, home })).stderr).toBe('')
})

test('bots regenerate-token --save exits 9 if the response contains no token', async () => {
  const { baseUrl } = await stub(() => success({ bot_id: 'bot_01' }))
  const ran = await cli(`bots regenerate-token bot_01 --save --yes --json --base-url ${baseUrl}`, { env })
  expect([ran.exit, ran.stdout, JSON.parse(ran.stderr).error.code]).toEqual([9, '', 'INVALID_RESPONSE'])
})

test('webhook set and tokens create warn if --fields omits the one-time secret or token', async () => {
  const { baseUrl } = await stub(({ path }) =>
    success(path.endsWith('/webhook') ? { url: 'https://a.example/…' } : { id: 'tok_01', token: FRESH }),
  )
  for (const command of [
    'webhook set bot_01 --url https://a.example/h --generate-secret --fields url',
    'tokens create --app app_01 --scope vouchers:read --fields id',
  ]) {
    const ran = await cli(`${command} --base-url ${baseUrl}`, { env })
    expect([ran.exit, ran.stderr]).toEqual([0, expect.stringContaining('not shown again')])
  }
})

test.each(['bots get bot_01', 'bots regenerate-token bot_01 --yes'])(
  'the command %s warns if --fields omits the one-time token',
  async (command) => {
    const { baseUrl } = await stub(() => success({ ...botDetail, bot_id: 'bot_01', one_time_token: FRESH }))
    const ran = await cli(`${command} --fields token_prefix --base-url ${baseUrl}`, { env })
    expect(ran.stdout + ran.stderr).not.toContain(FRESH)
    expect(ran.stderr).toContain('voucherctl bots regenerate-token bot_01 --save')
    const whole = await cli(`${command} --fields one_time_token --base-url ${baseUrl}`, { env })
    expect([whole.stdout.includes(FRESH), whole.stderr]).toEqual([true, ''])
  },
)

test('bots send authenticates with the bot token, bots get with the account JWT', async () => {
  const { baseUrl, received } = await stub(({ path }) => success(path.includes('/my') ? bot : update.message))
  await cli(`bots send --chat chat_01 --text Hello --base-url ${baseUrl}`, { env })
  await cli(`bots get bot_01 --base-url ${baseUrl}`, { env })
  expect(received.map(({ path, headers }) => [path, headers.authorization])).toEqual([
    ['/api/v1/bots/sendMessage', `Bearer ${secrets.VOUCHERCTL_BOT_TOKEN}`],
    ['/api/v1/bots/my/bot_01', `Bearer ${secrets.VOUCHERCTL_JWT}`],
  ])
})

test('bots update sends the values of its flags as members of the request body', async () => {
  const { baseUrl, received } = await stub(() => success(botDetail))
  const args = [
    'bots',
    'update',
    'bot_01',
    '--short-description',
    'Coffee',
    '--inline-queries',
    'on',
    '--link',
    'Shop=https://a.example/?b=c',
  ]
  const ran = await cli(
    [...args, '--contact-email', 'a@b.example', '--command', 'start=Begin', '--base-url', baseUrl],
    { env },
  )
  expect(ran.exit).toBe(0)
  expect(received[0]?.body).toEqual({
    short_description: 'Coffee',
    supports_inline_queries: true,
    links: [{ title: 'Shop', url: 'https://a.example/?b=c' }],
    contact: { email: 'a@b.example' },
    command_menus: [{ command: 'start', description: 'Begin' }],
  })
})

test('bots updates --follow prints one update per line and confirms each with the next poll', async () => {
  const stop = new AbortController()
  const { baseUrl, received } = await stub((_request, index) => {
    if (index === 2) stop.abort()
    return success({
      items: index === 0 ? [update, { ...update, update_id: 8 }] : index === 1 ? [{ ...update, update_id: 9 }] : [],
    })
  })
  const ran = await cli(`bots updates --follow --json --base-url ${baseUrl}`, { env, signal: stop.signal })
  expect(ran.exit).toBe(0)
  expect(
    ran.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).update_id),
  ).toEqual([7, 8, 9])
  expect(received.map(({ body }) => body)).toEqual([
    { timeout: 50 },
    { offset: 9, timeout: 50 },
    { offset: 10, timeout: 50 },
    { offset: 10, limit: 1, timeout: 0 },
  ])
})

test('bots updates --follow does not confirm an update after the reader has closed the pipe', async () => {
  const { baseUrl, received } = await stub((_request, index) =>
    success({ items: index === 0 ? [update] : index === 1 ? [{ ...update, update_id: 8 }] : [] }),
  )
  const ran = await cli(`bots updates --follow --json --base-url ${baseUrl}`, { env, linesTaken: 1 })
  expect([ran.exit, ran.stderr]).toEqual([0, ''])
  // The stub would record a late confirmation of the first command before this request.
  await cli(`bots updates --base-url ${baseUrl}`, { env })
  expect(received.map(({ body }) => (body as { offset?: number }).offset)).toEqual([undefined, 8, undefined])
})

test('bots updates --follow --retries 0 exits 9 with the next offset after one failed poll', async () => {
  const { baseUrl } = await stub((_request, index) => (index === 0 ? success({ items: [update] }) : { drop: true }))
  const ran = await cli(`bots updates --follow --json --retries 0 --base-url ${baseUrl}`, { env })
  expect([ran.exit, JSON.parse(ran.stdout).update_id]).toEqual([9, 7])
  expect(JSON.parse(ran.stderr).error).toMatchObject({
    code: 'NETWORK_ERROR',
    hint: expect.stringContaining('--offset 8'),
    details: { next_offset: 8 },
  })
})

test('bots updates --follow reconnects after an outage during which all --retries failed', async () => {
  const stop = new AbortController()
  const { baseUrl, received } = await stub((_request, index) => {
    if (index === 0 || index > 4) return success({ items: index === 0 ? [update] : [] })
    if (index === 4) setImmediate(() => stop.abort())
    return index === 4 ? success({ items: [{ ...update, update_id: 8 }] }) : { status: 503, body: {} }
  })
  const ran = await cli(`bots updates --follow --retries 1 --base-url ${baseUrl}`, { env, signal: stop.signal })
  expect([ran.exit, received.map(({ body }) => (body as { offset?: number }).offset).slice(0, 5)]).toEqual([
    0,
    [undefined, 8, 8, 8, 8],
  ])
  expect(ran.stderr).toContain('Trying again.\n')
})

test('bots updates --follow prompts for a credential once, not before each poll', async () => {
  const stop = new AbortController()
  const { baseUrl } = await stub((_request, index) => {
    if (index === 2) stop.abort()
    return success({ items: [] })
  })
  const replies = [secrets.VOUCHERCTL_BOT_TOKEN]
  const ran = await cli(`bots updates --follow --base-url ${baseUrl}`, { terminal: true, replies, signal: stop.signal })
  expect([ran.exit, ran.asked.length]).toEqual([0, 1])
})

test('bots updates --follow --timeout confirms what it has printed and exits 0 after that time', async () => {
  const { baseUrl, received } = await stub((_request, index) => success({ items: index === 0 ? [update] : [] }))
  const ran = await cli(`bots updates --follow --json --timeout 1s --base-url ${baseUrl}`, { env })
  expect([ran.exit, ran.stderr, JSON.parse(ran.stdout).update_id]).toEqual([0, '', 7])
  expect(received[1]?.body).toEqual({ offset: 8, timeout: 50 })
  const minute = await cli(`bots updates --follow --timeout 51s --dry-run --base-url ${baseUrl}`, { env })
  expect(minute.exit).toBe(0)
})

test('bots updates --follow --timeout exits 0 if the server has no update', { tags: 'time-limits/1' }, async () => {
  const server = await startServer()
  onTestFinished(() => server.close())
  const quiet = { VOUCHERCTL_BOT_TOKEN: server.seed.bots?.[0]?.token ?? '' }
  const ran = await cli(`bots updates --follow --json --timeout 1s --base-url ${server.baseUrl}`, { env: quiet })
  expect([ran.exit, ran.stdout, ran.stderr]).toEqual([0, '', ''])
})

test('bots updates --follow --timeout exits 9 if the server never responds', { tags: 'time-limits/1' }, async () => {
  const { baseUrl } = await rawServer(() => {})
  const ran = await cli(`bots updates --follow --json --timeout 100ms --base-url ${baseUrl}`, { env })
  expect([ran.exit, ran.stdout, JSON.parse(ran.stderr).error.code]).toEqual([9, '', 'TIMEOUT'])
})

test('bots updates prints type, chat, sender and text of each update', async () => {
  const said = { ...update, message: { ...update.message, from: { id: 'user-42', is_bot: false } } }
  const { baseUrl } = await stub(() =>
    success({ items: [said, { update_id: 8, type: 'ping', created_at: 'T', ping: {} }] }),
  )
  const ran = await cli(`bots updates --base-url ${baseUrl}`, { env, now: Date.parse('2026-11-21T13:00:00Z') })
  expect(ran.stdout).toBe('2026-11-21 10:00:00Z (3h ago)  #7  message  chat_01  user-42  Hello\nT  #8  ping\n')
})

test('bots updates --timeout sets how long a poll waits, in whole seconds up to 50', async () => {
  const { baseUrl, received } = await stub(() => success({ items: [] }))
  expect((await cli(`bots updates --timeout 1500ms --base-url ${baseUrl}`, { env })).stdout).toBe(
    'No updates are waiting.\n',
  )
  expect(received[0]?.body).toEqual({ timeout: 2 })
  expect((await cli(`bots updates --timeout 51s --base-url ${baseUrl}`, { env })).exit).toBe(2)
})

test('the chart of bots metrics scales its bars to the largest count and shows a count of 1', () => {
  const lines = chart({
    ...botMetrics,
    calls: { total: 65, by_method: { sendMessage: 64, getUpdates: 1, other: 0 } },
  }).split('\n')
  expect(lines[0]).toBe('calls: 65')
  expect(lines[1]).toBe(`  sendMessage  64  ${'█'.repeat(32)}`)
  expect(lines[2]).toBe('  getUpdates    1  █')
  expect(lines[3]).toBe('  other         0')
  expect(lines.at(-1)).toBe('quota         3 of 1800 calls a minute')
})

test('the chart of bots metrics shows errors by code and status, and dead letters separately', () => {
  const errors = { total: 2, by_status: { 409: 2 }, by_code: { WEBHOOK_ACTIVE: 2 } }
  const sections = chart({ ...botMetrics, errors }).split('\n\n')
  const bar = '█'.repeat(32)
  expect(sections.slice(1, 3)).toEqual([
    `errors: 2\n  WEBHOOK_ACTIVE  2  ${bar}`,
    `errors by status: 2\n  409  2  ${bar}`,
  ])
  expect(sections[3]?.split('\n')).toHaveLength(3)
  expect(sections.at(-1)).toMatch(/^dead letters {2}0$/m)
})

const times = { now: Date.parse('2026-11-21T10:00:05Z'), zone: UTC }

test('the timeline of a delivery has a line for the delivery, each attempt and the next attempt', () => {
  expect(timeline(delivery as never, times).split('\n')).toEqual([
    '#7  message  failed  dlv_01',
    '  ✗  2026-11-21 10:00:00Z (5s ago)  503  24 ms',
    '  …  2026-11-21 10:01:00Z (in 55s)  next attempt',
  ])
})

test('the timeline of a delivery shows status or error of each attempt and marks manual attempts', () => {
  const attempt = { number: 1, manual: true, started_at: '2026-11-21T10:00:00.000Z', duration_ms: 5, status_code: null }
  const refused = { ...attempt, error: { code: 'connection_refused', message: 'The endpoint refused the connection.' } }
  const delivered = { ...attempt, manual: false, status_code: 200, error: null }
  expect(
    timeline({ attempts: [refused, delivered] }, times)
      .split('\n')
      .slice(1),
  ).toEqual([
    '  ✗  2026-11-21 10:00:00Z (5s ago)  The endpoint refused the connection.  5 ms  by hand',
    '  ✓  2026-11-21 10:00:00Z (5s ago)  200  5 ms',
  ])
})

test('webhook set prints a confirmation, whether the secret is generated or from the environment', async () => {
  const { baseUrl } = await stub(() => success({ url: 'https://shop.example/…' }))
  const set = `webhook set bot_01 --url https://shop.example/hook --base-url ${baseUrl}`
  const own = await cli(set, { env: { ...env, VOUCHERCTL_WEBHOOK_SECRET: 'CANARYsecret' } })
  expect(own.stdout).toMatch(/^✓ Updates are delivered to https:\/\/shop\.example\/…\.\n/)
  expect((await cli(`${set} --generate-secret`, { env })).stdout).toContain('delivered to https://shop.example/…. Keep')
})

test('webhook info prints dates in a table and seconds in JSON', async () => {
  const { baseUrl } = await stub(() =>
    success({ delivery_mode: 'polling', url: null, last_success_date: 1_795_255_925 }),
  )
  const args = `webhook info --base-url ${baseUrl}`
  expect((await cli(args, { env })).stdout).toMatch(/last success date +2026-11-21 10:12:05Z\n/)
  expect(JSON.parse((await cli(`${args} --json`, { env })).stdout).last_success_date).toBe(1_795_255_925)
})

test('webhook set reads a secret without its line end and never prints it', { tags: 'confirmations/3' }, async () => {
  const file = join(temporaryDir(), 'secret')
  writeFileSync(file, 'CANARYsecret\n')
  const { baseUrl, received } = await stub(() => success({ url: 'https://shop.example/…' }))
  const url = 'https://shop.example/hook'
  const ran = await cli(
    `webhook set bot_01 --url ${url} --secret-file ${file} --grace-seconds 1h --drop-pending --base-url ${baseUrl}`,
    { env },
  )
  expect(ran.exit).toBe(0)
  expect(ran.stdout + ran.stderr).not.toContain('CANARYsecret')
  expect(received[0]?.body).toEqual({
    url,
    secret_token: 'CANARYsecret',
    secret_grace_seconds: 3600,
    drop_pending_updates: true,
  })
  const dry = await cli(
    `webhook set bot_01 --url ${url} --secret-file ${file} --dry-run --json --base-url ${baseUrl}`,
    { env },
  )
  expect(dry.exit).toBe(0)
  expect(JSON.parse(dry.stdout).requests[0].body).toMatchObject({ secret_token: '…', url: 'https://shop.example/…' })
  expect(dry.stdout).not.toContain('CANARYsecret')
})

test('webhook set --generate-secret sends and prints a new secret each time', async () => {
  const { baseUrl, received } = await stub(() => success({ url: 'https://shop.example/…' }))
  const args = `webhook set bot_01 --url https://shop.example/hook --generate-secret --json --base-url ${baseUrl}`
  const shown = [JSON.parse((await cli(args, { env })).stdout), JSON.parse((await cli(args, { env })).stdout)].map(
    (it) => it.one_time_secret_token,
  )
  expect(received.map(({ body }) => (body as { secret_token: string }).secret_token)).toEqual(shown)
  for (const secret of shown) expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/)
  expect(shown[0]).not.toBe(shown[1])
})

test('vouchers issue --chat sends the request with the bot token and refuses --recipient', async () => {
  const { baseUrl, received } = await stub(() =>
    success({ ...issuedVoucher, delivery: { chat_id: 'chat_01', message_id: 3 } }),
  )
  const args = 'vouchers issue --template tpl_01 --external-id order-1 --chat chat_01'
  expect((await cli(`${args} --json --base-url ${baseUrl}`, { env })).exit).toBe(0)
  expect(received[0]).toMatchObject({
    path: '/api/v1/bots/vouchers/issue',
    body: { chat_id: 'chat_01', template_id: 'tpl_01', external_issue_id: 'order-1' },
    headers: { 'idempotency-key': 'key-1', authorization: `Bearer ${secrets.VOUCHERCTL_BOT_TOKEN}` },
  })
  expect((await cli(`${args} --recipient user-1 --base-url ${baseUrl}`, { env })).exit).toBe(2)
  const shown = await cli(`${args} --base-url ${baseUrl}`, { env })
  expect(shown.stdout).toMatch(/delivered +message 3 of chat_01\n/)
  const neither = await cli('vouchers issue --template tpl_01 --external-id order-1 --base-url http://127.0.0.1:9', {
    env,
  })
  expect([neither.exit, neither.stderr.split('\n')[0]]).toEqual([
    3,
    'error: Missing: --recipient or --chat. (INPUT_REQUIRED)',
  ])
})

test('vouchers issue --chat reports if an earlier request had issued the voucher without a chat', async () => {
  const { baseUrl } = await stub(() => success({ ...issuedVoucher, delivery: null }))
  const args = `vouchers issue --template tpl_01 --external-id order-1 --chat chat_01 --base-url ${baseUrl}`
  expect((await cli(args, { env })).stdout).toMatch(/delivered +no: it was issued without a chat before\n/)
})

test('templates create --bot --submit suggests templates submit --bot if only submitting fails', async () => {
  const { baseUrl } = await stub((_request, index) =>
    index === 0 ? success(template, 201) : refusal(403, 'BOT_DISABLED'),
  )
  const args = `templates create --file - --bot bot_01 --submit --json --base-url ${baseUrl}`
  const ran = await cli(args, { env, stdin: JSON.stringify(templateBody) })
  expect([ran.exit, JSON.parse(ran.stderr).error.hint]).toEqual([
    4,
    expect.stringMatching(/`voucherctl templates submit tpl_01 .*--bot bot_01`/),
  ])
})

test.each([
  ['templates list --bot bot_01', 'GET /api/v1/bots/my/bot_01/vouchers/templates', { items: [template] }],
  ['templates submit tpl_01 --bot bot_01', 'POST /api/v1/bots/my/bot_01/vouchers/templates/tpl_01/submit', template],
])('the command %s calls the template endpoint of the bot that --bot names', async (command, call, data) => {
  const { baseUrl, received } = await stub(() => success(data))
  expect((await cli(`${command} --base-url ${baseUrl}`, { env })).exit).toBe(0)
  expect(received.map(({ method, path }) => `${method} ${path}`)).toEqual([call])
})

test('platform chats messages prints user texts without terminal controls', async () => {
  const said = { ...update.message, from: { id: 'user-42', is_bot: false }, text: '\u001b[2Jboo', voucher: null }
  const { baseUrl } = await stub(() => success({ items: [said] }))
  const ran = await cli(`platform chats messages ${chat.id} --base-url ${baseUrl}`, { env })
  expect(ran.stdout).toContain('user-42: ')
  expect(ran.stdout).not.toContain('\u001b')
})
