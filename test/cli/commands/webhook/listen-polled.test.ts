import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { polls as polling } from '../../../../src/cli/commands/bots/polling.js'
import { cli, type Given, refusal, secrets, stub, success, temporaryDir } from '../../../support/cli/cli.js'
import { update } from '../../../support/cli/samples.js'
import { webhookReceiver } from '../../../support/webhook/receiver.js'

const secret = 'whsec_test_secret_0123456789abcdef'
const now = Date.UTC(2026, 10, 21, 10)
const items = (...ids: number[]) => success({ items: ids.map((update_id) => ({ ...update, update_id })) })
const linesOf = (text: string) => [...text.matchAll(/.+/g)].map(([it]) => JSON.parse(it))

/** Listens to the bot of a server with these getUpdates responses, after a first empty one; stops after the last. */
async function listening(responses: readonly ReturnType<typeof success>[], flags: string, given: Given = {}) {
  const stop = new AbortController()
  const polls: unknown[] = []
  const { baseUrl, received } = await stub(({ path, body }) => {
    if (path !== '/api/v1/bots/getUpdates') return success({})
    const response = [items(), ...responses][polls.push(body) - 1]
    if (response === undefined) stop.abort()
    return response ?? items()
  })
  const line = `webhook listen --bot bot_1 --inbox inbox --base-url ${baseUrl} ${flags}`
  const env = { ...secrets, VOUCHERCTL_WEBHOOK_SECRET: secret }
  return { ...(await cli(line, { home: temporaryDir(), now, signal: stop.signal, env, ...given })), polls, received }
}

test('webhook listen --bot forwards a polled update and confirms it', {
  tags: ['borrowed-webhooks/3', 'polled-deliveries/1'],
}, async () => {
  const app = await webhookReceiver(secret, undefined, now)
  const { exit, stdout, stderr, polls, received } = await listening([items(7)], `--json --forward-to ${app.url}/hook`)
  expect([exit, stderr]).toEqual([0, ''])
  expect(app.received).toMatchObject([{ verdict: { ok: true, updateId: '7' } }])
  expect(String(app.received[0]?.body)).toBe(JSON.stringify(update))
  expect(linesOf(stdout)).toMatchObject([{ verdict: 'ok', update_id: 7, status: 200 }])
  const last = { offset: 8, limit: 1, timeout: 0 }
  expect(polls).toEqual([{ timeout: 0 }, { timeout: 0 }, { offset: 8, timeout: 50 }, last])
  const bearer = `Bearer ${secrets.VOUCHERCTL_BOT_TOKEN}`
  expect(received.filter((it) => it.headers.authorization !== bearer || !/\/get\w+$/.test(it.path))).toEqual([])
})

test('webhook listen --bot exits 6 if another poller takes over', async () => {
  const { exit, stderr } = await listening([items(7), refusal(409, 'POLL_TERMINATED')], '')
  expect([exit, stderr]).toEqual([
    6,
    expect.stringContaining('one poller for each bot. The last deliveries could not be'),
  ])
})

test('webhook listen --dead-letter appends each dead letter as one line and makes the file 0600', async () => {
  const home = temporaryDir()
  const file = join(home, 'dead.ndjson')
  writeFileSync(file, '{"update_id":1}\n', { mode: 0o644 })
  const app = await webhookReceiver(secret, ({ body }) => (String(body).includes('"update_id":8') ? 200 : 503), now)
  const flags = `--forward-to ${app.url} --retry-fast --max-attempts 2 --dead-letter dead.ndjson`
  const { exit, stderr, polls } = await listening([items(7, 8)], flags, { home })
  expect([exit, app.received.map(({ verdict }) => verdict.ok && verdict.updateId)]).toEqual([0, ['7', '7', '8']])
  expect(stderr).toContain('Update 7 failed at attempt 1; the next one is in 100 ms.\n')
  expect(stderr).toContain('Update 7 became a dead letter at attempt 2.\n')
  expect(linesOf(readFileSync(file, 'utf8'))).toMatchObject([
    { update_id: 1 },
    { update_id: 7, type: 'message', attempts: 2, status: 503, error: null, update: { ...update, update_id: 7 } },
  ])
  if (process.platform !== 'win32') expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(polls[2]).toMatchObject({ offset: 9 })
  const unwritable = await listening([], '--max-attempts 3 --dead-letter /nowhere/x')
  expect([unwritable.exit, unwritable.polls]).toEqual([1, []])
  expect(unwritable.stderr).toContain('/nowhere/x cannot be written (ENOENT).')
})

test('webhook listen --bot keeps a secret and prints its export line', { tags: 'workbench-secrets/1' }, async () => {
  const home = temporaryDir()
  const file = join(home, '.local/share/voucherctl/webhook-secret')
  const line = `export VOUCHERCTL_WEBHOOK_SECRET="$(cat ${file})"`
  const given = { home, env: secrets }
  const once = '--max-attempts 1 --dead-letter dead.ndjson'
  const stranger = await webhookReceiver('another-secret', undefined, now)
  const refused = await listening([items(7)], `${once} --forward-to ${stranger.url}`, given)
  const kept = readFileSync(file, 'utf8').trim()
  if (process.platform !== 'win32') expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(refused.stderr).toContain(`The application needs the secret of this listener:\n  ${line}\n`)
  expect(refused.stderr).toContain(`so the secret of the application differs. Start it with`)
  expect(refused.stderr).toContain(`          ${line}\n`)
  const script = await listening([items(7)], `${once} --json --forward-to ${stranger.url}`, given)
  expect(script.stderr).toMatch(/^warning: The signature was right, so the secret of the application differs\./)
  expect(script.stderr).toContain(`\n${line}\n`)
  const terminal = { ...given, terminal: true, columns: 80 }
  const narrow = await listening([items(7)], `${once} --json --forward-to ${stranger.url}`, terminal)
  expect(narrow.stderr).toContain(`The application needs the secret of this listener:\n  ${line}\n`)
  const app = await webhookReceiver(kept, undefined, now)
  const accepted = await listening([items(7)], `--forward-to ${app.url}`, given)
  expect(app.received).toMatchObject([{ verdict: { ok: true } }])
  expect(accepted.stderr).not.toContain('differs')
  expect(refused.stdout + refused.stderr + accepted.stdout + accepted.stderr).not.toContain(kept)
  const scripted = await listening([items(7)], `${once} --respond 401`, given)
  expect(scripted.stderr).not.toMatch(/differs|export/)
})

test.each(['webhook listen --bot bot_1 --inbox inbox', 'bots updates --follow'])(
  'the command %s warns if polls are not held and exits 9 for an update_id above 2^53',
  { tags: ['update-ids/1', 'polls-that-are-not-held/1'] },
  async (command) => {
    // A poll that lasts as long as the pace counts as held; here each lasts 0 ms.
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    let polls = 0
    const { baseUrl } = await stub(({ path }) => {
      if (path === '/api/v1/bots/getWebhookInfo') return success({})
      polls += 1
      return polls < 4 ? items() : items(2 ** 53)
    })
    const env = { ...secrets, VOUCHERCTL_WEBHOOK_SECRET: secret }
    const ran = await cli(`${command} --base-url ${baseUrl}`, { env })
    expect([ran.exit, ran.stdout, polls]).toEqual([9, '', 4])
    expect(ran.stderr.match(/^The server does not hold polls: updates may come some seconds late\.$/gm)).toHaveLength(1)
    const context = { host: {}, settings: { retries: {} }, output: {} }
    expect(polling(context as never, () => 0).paceMs).toEqual([1_000, 2_000, 4_000, 8_000])
    expect(ran.stderr).toContain('a voucher service: data.items[0].update_id is not an integer')
  },
)
