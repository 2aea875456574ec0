import { execFile } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { built } from '../../support/cli/built-cli.js'
import { refusal, secrets, stub, success, temporaryDir } from '../../support/cli/cli.js'
import { complete } from '../../support/cli/completion.js'
import { homeWithProfiles } from '../../support/cli/profiles.js'
import { app, bot, chat, delivery, pageOf, template, token } from '../../support/cli/samples.js'
import { closedPort } from '../../support/closed-port.js'
import { listen } from '../../support/listen.js'

const review = { kind: 'bot', id: 'bot_01', application_id: null, account_id: 'demo', name: 'Coffee', submitted_at: '' }

test.each([
  ['apps get ', app, '/api/v1/open-platform/applications?limit=100', 'Coffee shop, active', 'Coffee\\ shop'],
  ['tokens list --app ', app, '/api/v1/open-platform/applications?limit=100', 'Coffee shop, active', 'Coffee\\ shop'],
  ['tokens revoke --app app_01 ', token, '/api/v1/open-platform/applications/app_01/tokens?limit=100', 'till, active'],
  [
    'templates submit ',
    template,
    '/api/v1/open-platform/vouchers/templates?limit=100',
    'One free coffee, draft',
    'coffee',
  ],
  [
    'vouchers issue --template ',
    { ...template, status: 'active' },
    '/api/v1/open-platform/vouchers/templates?limit=100&status=active',
    'One free coffee, active',
    'coffee',
  ],
  [
    'templates submit --bot bot_01 ',
    template,
    '/api/v1/bots/my/bot_01/vouchers/templates?limit=100',
    'One free coffee, draft',
    'coffee',
  ],
  ['webhook set ', bot, '/api/v1/bots/my?limit=100', 'Coffee bot, active', 'coffee_bot'],
  ['apps link-bot app_01 --bot ', bot, '/api/v1/bots/my?limit=100', 'Coffee bot, active', 'coffee_bot'],
  ['webhook retry --bot bot_01 ', delivery, '/api/v1/bots/my/bot_01/deliveries?limit=100', 'message, failed'],
  ['bots send --chat ', chat, '/_platform/v1/chats?limit=100', 'user-42, private'],
  ['platform users block ', chat, '/_platform/v1/chats?limit=100', 'user-42, private'],
  ['platform bots approve ', review, '/_platform/v1/reviews?kind=bot', 'Coffee, demo'],
  ['platform templates show ', template, '/_platform/v1/templates?limit=100', 'One free coffee, draft'],
  ['platform templates reject ', review, '/_platform/v1/reviews?kind=template', 'Coffee, demo'],
])('completion of "%s" offers ids, names', { tags: 'completion/1' }, async (line, record, path, summary, name = '') => {
  const { baseUrl, received } = await stub(() => success(pageOf(record)))
  const env = { ...secrets, VOUCHERCTL_BASE_URL: baseUrl }
  const [values, summaries] = [[record.id], [summary]]
  if (name !== '') {
    values.push(name)
    summaries.push(`${record.id}, ${'status' in record ? record.status : ''}`)
  }
  expect(await complete(line, { env })).toEqual({ kind: 'words', values, summaries })
  expect(received.map((it) => [it.method, it.path])).toEqual([['GET', path]])
})

test('completion offers no name that two records have or that has the form of an id', async () => {
  const named = (id: string, name: string) => ({ ...app, id, name })
  const records = [named('app_1', 'Twin'), named('app_2', 'Twin'), named('app_3', 'tpl_x'), named('app_4', 'Solo')]
  const { baseUrl } = await stub(() => success(pageOf(...records)))
  const { values } = await complete('apps get ', { env: { ...secrets, VOUCHERCTL_BASE_URL: baseUrl } })
  expect(values).toEqual(['app_1', 'app_2', 'app_3', 'app_4', 'Solo'])
})

test('completion of --app=VALUE offers the whole word with flag and value', async () => {
  const { baseUrl } = await stub(() => success(pageOf(app, { ...app, id: 'other' })))
  const env = { ...secrets, VOUCHERCTL_BASE_URL: baseUrl }
  expect((await complete('tokens list --app=app', { env })).values).toEqual(['--app=app_01'])
})

test('completion sends a stored credential only to its own server, and prefers --token-file', async () => {
  const { baseUrl, received } = await stub(() => success(pageOf(app)))
  const other = await stub(() => success(pageOf(app)))
  const jwt = { value: secrets.VOUCHERCTL_JWT, origin: baseUrl }
  const home = homeWithProfiles({ shop: { base_url: baseUrl, credentials: { jwt } } })
  writeFileSync(join(home, 'token'), 'fromfile\n')
  expect((await complete('-p shop apps get ', { home })).values).toEqual(['app_01', 'Coffee\\ shop'])
  await complete(`--token-file ${join(home, 'token')} -p shop apps get `, { home })
  expect(received.map((it) => it.headers.authorization)).toEqual([`Bearer ${jwt.value}`, 'Bearer fromfile'])
  expect((await complete(`-p shop --base-url ${other.baseUrl} apps get `, { home })).values).toEqual([])
  expect(other.received).toEqual([])
  expect((await complete('-p nobody apps get ', { home })).values).toEqual([])
})

test('completion does not read a token from stdin or from /dev/fd/0', async () => {
  const { baseUrl, received } = await stub(() => success(pageOf(app)))
  const env = { VOUCHERCTL_BASE_URL: baseUrl }
  expect((await complete('--token-file - apps get ', { env })).values).toEqual([])
  expect((await complete('--token-file /dev/fd/0 apps get ', { env })).values).toEqual([])
  expect(received).toEqual([])
})

test.each(['apps get ', 'webhook retry ', 'tokens revoke '])(
  'completion of the line "%s" calls no server without a base URL and a credential',
  async (line) => {
    const { baseUrl, received } = await stub(() => success(pageOf(app)))
    expect((await complete(line)).values).toEqual([])
    expect((await complete(line, { env: { VOUCHERCTL_BASE_URL: baseUrl } })).values).toEqual([])
    if (line !== 'apps get ')
      expect((await complete(line, { env: { ...secrets, VOUCHERCTL_BASE_URL: baseUrl } })).values).toEqual([])
    expect(received).toEqual([])
  },
)

test('completion prints nothing for errors and bad responses, without retry', { tags: 'completion/1' }, async () => {
  const responses = [
    refusal(401, 'TOKEN_INVALID'),
    refusal(429, 'RATE_LIMITED'),
    refusal(503, 'SERVICE_UNAVAILABLE'),
    refusal(426, 'SECURE_TRANSPORT_REQUIRED'),
    success({ items: [null, 7, {}, { id: 7 }] }),
    success(null),
    { drop: true },
  ]
  const { baseUrl, received } = await stub((_request, index) => responses[index] ?? {})
  const home = temporaryDir()
  const env = { ...secrets, VOUCHERCTL_BASE_URL: baseUrl }
  for (const _response of responses) expect((await complete('apps get ', { env, home })).values).toEqual([])
  expect(received).toHaveLength(responses.length)
  const offline = { ...secrets, VOUCHERCTL_BASE_URL: `http://127.0.0.1:${await closedPort()}` }
  expect((await complete('apps get ', { env: offline })).values).toEqual([])
})

test('completion removes control characters from names and omits ids that contain any', async () => {
  const hostile = [
    { ...app, id: 'app_ok', name: 'a\u001b[31mred\u001b]0;title\u0007\tb\nwords\nc' },
    { ...app, id: 'app_\u001b[2J', name: 'x' },
    { ...app, id: 'app\nwords', name: 'x' },
    { ...app, id: 'app\tx', name: 'x' },
    { ...app, id: '', name: 'x' },
  ]
  const { baseUrl } = await stub(() => success(pageOf(...hostile)))
  const env = { ...secrets, VOUCHERCTL_BASE_URL: baseUrl }
  expect(await complete('apps get ', { env })).toEqual({
    kind: 'words',
    values: ['app_ok'],
    summaries: ['ared b words c, active'],
  })
})

test('completion waits 250 ms, and calls no server with a time-out of 0', { tags: 'completion/1' }, async () => {
  const { baseUrl, received } = await stub(() => success(pageOf(app)))
  const env = { ...secrets, VOUCHERCTL_BASE_URL: baseUrl, VOUCHERCTL_COMPLETION_TIMEOUT: '0' }
  expect((await complete('apps get ', { env })).values).toEqual([])
  expect(received).toEqual([])
  using _now = vi.spyOn(performance, 'now').mockReturnValue(0)
  using timers = vi.spyOn(globalThis, 'setTimeout')
  await complete('apps get ', { env: { ...env, VOUCHERCTL_COMPLETION_TIMEOUT: '' } })
  expect(timers.mock.calls.map(([, ms]) => ms)).toContain(250)
})

/** Runs the completion command of the built program; kills it after 20 s, before an API call times out (30 s). */
function run(args: readonly string[], home: string, env: Record<string, string> = {}) {
  return new Promise<{ exit: number | null; stdout: string; stderr: string }>((resolve) => {
    const options = { cwd: home, env: built.environment(home, env), timeout: 20_000 }
    const child = execFile(process.execPath, [built.bin, '__complete', ...args], options, (_error, stdout, stderr) => {
      resolve({ exit: child.exitCode, stdout, stderr })
    })
  })
}

test('completion exits 0 without output if the server never responds', { tags: 'completion/1' }, async () => {
  const mute = createServer(() => {})
  const baseUrl = `http://127.0.0.1:${await listen(mute)}`
  const home = temporaryDir()
  const { exit, stdout, stderr } = await run(['zsh', 'apps', 'get', ''], home, {
    ...secrets,
    VOUCHERCTL_BASE_URL: baseUrl,
  })
  expect({ exit, stdout, stderr }).toEqual({ exit: 0, stdout: 'words\n', stderr: '' })
})

test('completion writes no file and prints no secret', async () => {
  const { baseUrl } = await stub(() => success(pageOf(app)))
  const home = temporaryDir()
  const env = {
    ...secrets,
    VOUCHERCTL_BASE_URL: baseUrl,
    VOUCHERCTL_COMPLETION_TIMEOUT: '20s',
    VOUCHERCTL_SECURE: 'off',
  }
  const { stdout, stderr } = await run(['zsh', 'apps', 'get', ''], home, env)
  expect([stdout, stderr]).toEqual(['words\napp_01\tCoffee shop, active\nCoffee shop\tapp_01, active\n', ''])
  expect(readdirSync(home)).toEqual([])
})

test.each([
  ['templates submit ', template, 'active'],
  ['tokens revoke --app app_01 ', token, 'revoked'],
  ['platform apps suspend ', app, 'suspended'],
])('completion of the line "%s" omits resources that the command refuses', async (line, record, status) => {
  const { baseUrl } = await stub(() => success(pageOf(record, { ...record, id: 'other', status })))
  expect((await complete(line, { env: { ...secrets, VOUCHERCTL_BASE_URL: baseUrl } })).values).toEqual([record.id])
})
