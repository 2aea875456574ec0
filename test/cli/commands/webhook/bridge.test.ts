import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { cli, refusal, secrets, stub, success, temporaryDir } from '../../../support/cli/cli.js'
import { update } from '../../../support/cli/samples.js'
import { closedPort } from '../../../support/closed-port.js'
import { webhookReceiver } from '../../../support/webhook/receiver.js'

const secret = 'whsec_test_secret_0123456789abcdef'
const env = { ...secrets, VOUCHERCTL_WEBHOOK_SECRET: secret }
const now = Date.UTC(2026, 10, 21, 10)
const lines = (stdout: string) =>
  stdout
    .split('\n')
    .filter((it) => it !== '')
    .map((it) => JSON.parse(it))

/** Runs a bridge against a server with these getUpdates responses and stops it after the last one. */
async function bridged(responses: readonly ReturnType<typeof success>[], flags: string, appUrl: string) {
  const stop = new AbortController()
  const server = await stub((_request, index) => {
    const response = responses[index]
    if (response !== undefined) return response
    stop.abort()
    return success({ items: [] })
  })
  const args = `webhook bridge --forward-to ${appUrl} --base-url ${server.baseUrl} ${flags}`
  const ran = await cli(args, { env, now, signal: stop.signal })
  return { ...ran, polls: server.received.map(({ body }) => body) }
}
const items = (...ids: number[]) => success({ items: ids.map((update_id) => ({ ...update, update_id })) })

test('webhook bridge delivers an update with a valid signature and prints one line', async () => {
  const app = await webhookReceiver(secret, undefined, now)
  const { exit, stdout, stderr, polls } = await bridged([items(7)], '--json', `${app.url}/hook`)
  expect([exit, stderr]).toEqual([0, ''])
  expect(app.received).toMatchObject([{ verdict: { ok: true, updateId: '7' } }])
  expect(String(app.received[0]?.body)).toBe(JSON.stringify(update))
  expect(app.received[0]?.headers['content-type']).toBe('application/json')
  expect(lines(stdout)).toEqual([
    {
      time: expect.stringContaining('2026-11-21'),
      update_id: 7,
      type: 'message',
      attempt: 1,
      status: 200,
      error: null,
      duration_ms: expect.any(Number),
      retry_in_ms: null,
      outcome: 'delivered',
    },
  ])
  expect(polls).toEqual([{ timeout: 0 }, { offset: 8, timeout: 50 }, { offset: 8, limit: 1, timeout: 0 }])
})

test('webhook bridge prints Ready on stderr after its first successful poll', async () => {
  const app = await webhookReceiver(secret, undefined, now)
  const { stdout, stderr } = await bridged([items(7)], '', app.url)
  expect(stderr).toBe(`Ready: updates go to ${app.url}/\n`)
  expect(stdout).toMatch(/#7 {2}message {2}200 {2}\d+ ms {2}delivered, attempt 1\n$/)
})

test.each([
  ['WEBHOOK_ACTIVE', 'voucherctl webhook delete'],
  ['POLL_TERMINATED', 'one poller'],
])('webhook bridge exits 6 with a hint for a 409 %s in its first or a later poll', async (code, words) => {
  const app = await webhookReceiver(secret, undefined, now)
  const first = await bridged([refusal(409, code)], '', app.url)
  expect([first.exit, first.stdout, first.polls.length]).toEqual([6, '', 1])
  expect(first.stderr).toContain(words)
  expect(first.stderr).not.toContain('Ready')
  const later = await bridged([items(7), refusal(409, code)], '--json', app.url)
  expect([later.exit, later.polls.length]).toEqual([6, 2])
  expect(JSON.parse(later.stderr).error).toMatchObject({ code, hint: expect.stringContaining(words) })
  expect(JSON.parse(later.stderr).error.hint).toContain('could not be confirmed')
})

test('webhook bridge exits 4 for a 401 and 9 for an unreachable server', async () => {
  const app = await webhookReceiver(secret)
  expect((await bridged([refusal(401, 'TOKEN_INVALID')], '--json', app.url)).exit).toBe(4)
  const nobody = `--base-url http://127.0.0.1:${await closedPort()} --retries 0`
  expect((await cli(`webhook bridge --forward-to ${app.url} ${nobody}`, { env })).exit).toBe(9)
})

test('webhook bridge appends each dead letter as one line to a file and makes its mode 0600', async () => {
  const file = join(temporaryDir(), 'dead.ndjson')
  writeFileSync(file, '{"update_id":1}\n', { mode: 0o644 })
  const app = await webhookReceiver(secret, ({ body }) => (String(body).includes('"update_id":8') ? 200 : 503), now)
  const flags = `--json --retry-fast --max-attempts 2 --dead-letter ${file}`
  const { exit, stdout, polls } = await bridged([items(7, 8)], flags, app.url)
  expect([exit, lines(stdout).map((it) => it.outcome)]).toEqual([0, ['failed', 'dead_letter', 'delivered']])
  expect(lines(readFileSync(file, 'utf8'))).toMatchObject([
    { update_id: 1 },
    { update_id: 7, type: 'message', attempts: 2, status: 503, error: null, update: { ...update, update_id: 7 } },
  ])
  if (process.platform !== 'win32') expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(polls[1]).toMatchObject({ offset: 9 })
})

test.each([
  ['--forward-to http://192.0.2.1/hook', 2, '--allow-remote'],
  ['--forward-to http://127.0.0.1.example/hook', 2, '--allow-remote'],
  ['--forward-to ftp://127.0.0.1/', 2, 'http or https'],
  ['--forward-to http://127.0.0.1:1/ --max-attempts 3', 2, '--dead-letter'],
  ['--forward-to http://127.0.0.1:1/ --dead-letter x', 2, '--max-attempts'],
  ['--forward-to http://127.0.0.1:1/ --max-attempts 3 --dead-letter /nowhere/x', 1, '/nowhere/x cannot be written'],
  ['--forward-to http://127.0.0.1:1/ --secret-file - --token-file -', 2, 'cannot both read stdin'],
  ['', 3, '--forward-to'],
])('webhook bridge %s exits %i before its first poll', async (flags, exit, words) => {
  const { baseUrl, received } = await stub(() => success({ items: [] }))
  const ran = await cli(`webhook bridge ${flags} --base-url ${baseUrl}`, { env })
  expect([ran.exit, ran.stdout, received]).toEqual([exit, '', []])
  expect(ran.stderr).toContain(words)
})

test.each(['http://localhost:1/', 'http://127.8.0.1:1/', 'http://[::1]:1/'])(
  'webhook bridge accepts %s as a loopback address',
  async (url) => {
    const { exit, polls } = await bridged([], '--json', url)
    expect([exit, polls.length]).toEqual([0, 1])
  },
)

test('webhook bridge exits 3 without a secret and does not poll', async () => {
  const { baseUrl, received } = await stub(() => success({ items: [] }))
  const ran = await cli(`webhook bridge --forward-to http://127.0.0.1:1/ --base-url ${baseUrl}`, { env: secrets })
  expect([ran.exit, received]).toEqual([3, []])
  expect(ran.stderr).toContain('VOUCHERCTL_WEBHOOK_SECRET')
})

test.each(['webhook bridge --forward-to http://127.0.0.1:1/', 'bots updates --follow'])(
  'the command %s warns if polls are not held and exits 9 for an update_id above 2^53',
  async (command) => {
    // A poll that lasts as long as the pace counts as held; here each lasts 0 ms.
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const ids = [[], [], [9_007_199_254_740_992]]
    const { baseUrl, received } = await stub((_request, index) => items(...(ids[index] as number[])))
    const ran = await cli(`${command} --base-url ${baseUrl}`, { env })
    expect([ran.exit, ran.stdout, received.length]).toEqual([9, '', 3])
    expect(ran.stderr).toContain('The server does not hold polls: updates may come some seconds late.\n')
    expect(ran.stderr).toContain(
      'error: Not a response of a voucher service: data.items[0].update_id is not an integer',
    )
    expect(received.every(({ body }) => !JSON.stringify(body).includes('offset'))).toBe(true)
  },
)
