import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { contract } from '../../../../src/contract/index.js'
import type { ServerOptions } from '../../../../src/server/options.js'
import { built } from '../../../support/cli/built-cli.js'
import { temporaryDir } from '../../../support/cli/cli.js'
import { type StandaloneServer, standaloneServer } from '../../../support/server/server.js'
import { newTenant } from '../../../support/server/tenant.js'
import { webhookReceiver } from '../../../support/webhook/receiver.js'

const OWN = 'https://93.184.215.14/own'

/** Starts a server whose leases follow `time`, with a bot that has a webhook, and functions that act on both. */
async function scene() {
  const home = temporaryDir()
  const dataDir = join(home, '.local', 'share', 'voucherctl')
  const time = { now: 1_000_000 }
  const begin = (port = 0) =>
    standaloneServer({ dataDir, port, parts: { leaseNow: () => time.now } } as Partial<ServerOptions> as ServerOptions)
  let server: StandaloneServer = await begin()
  onTestFinished(() => server.close())
  const tenant = await newTenant(server)
  const bot = await tenant.bot()
  await bot.call(contract.webhook.setByBot, { url: OWN, secret_token: 'own-secret' })
  const env = { VOUCHERCTL_JWT: tenant.jwt, VOUCHERCTL_BOT_TOKEN: bot.token }
  const output = { text: '' }
  const listen = (args: readonly string[], more: Record<string, string> = {}, from = home) => {
    const child = built.start(['webhook', 'listen', ...args], from, { ...env, ...more })
    onTestFinished(() => void child.kill('SIGKILL'))
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output.text += chunk))
    return child
  }
  const ready = async (folder = home) => {
    const file = join(folder, 'ready.json')
    await vi.waitFor(() => expect(existsSync(file), output.text).toBe(true), 120_000)
    return JSON.parse(readFileSync(file, 'utf8')) as { url: string }
  }
  const call = (path: string, method: string, token: string, body?: object) =>
    fetch(`${server.baseUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }).then(async (response) => ((await response.json()) as { data: Record<string, unknown> }).data)
  return {
    ...{ home, env, bot, output, listen, ready, time },
    /** Environment of a machine without the data folder, which reaches the server through a tunnel. */
    tunnel: () => ({ VOUCHERCTL_BASE_URL: server.baseUrl, VOUCHERCTL_OPERATOR_KEY: server.operatorKey }),
    stop: () => server.close(),
    start: async (port?: number) => void (server = await begin(port)),
    port: () => server.port,
    urlInEffect: async () => (await call('/api/v1/bots/getWebhookInfo', 'GET', bot.token)).url as string | null,
    ping: () => call(`/_platform/v1/bots/${bot.id}/updates`, 'POST', server.operatorKey, { type: 'ping' }),
    /** Lets the server look for ended leases: a move of the test clock starts its upkeep. */
    sweep: () => call('/_platform/v1/clock/advance', 'POST', server.operatorKey, { seconds: 1 }),
    deleteWebhook: () => call(`/api/v1/bots/my/${bot.id}/webhook`, 'DELETE', tenant.jwt),
    username: async () => (await call(`/api/v1/bots/my/${bot.id}`, 'GET', tenant.jwt)).username as string,
    logs: () => server.logs.join(''),
    /** Ids of the updates that no poll has confirmed. */
    waiting: async () => {
      const { items } = await call('/api/v1/bots/getUpdates', 'POST', bot.token, {})
      return (items as { update_id: number }[]).map((it) => it.update_id)
    },
  }
}

test.each(['SIGINT', 'SIGTERM'] as const)('webhook listen --bot returns the borrowed webhook at %s', async (signal) => {
  const it = await scene()
  const app = await webhookReceiver('a-secret-of-the-app')
  const flags = ['--bot', await it.username(), '--forward-to', app.url, '--ready-file', 'ready.json']
  const child = it.listen(flags, { VOUCHERCTL_WEBHOOK_SECRET: 'a-secret-of-the-app' })
  const { url } = await it.ready()
  expect(await it.urlInEffect()).toBe(`${url}/`)
  await it.ping()
  await vi.waitFor(() => expect(app.received.map(({ verdict }) => verdict.ok)).toEqual([true]), 120_000)
  child.kill(signal)
  const exit = (await once(child, 'exit'))[0]
  expect(await it.urlInEffect()).toBe(OWN)
  expect(it.output.text + it.logs()).not.toContain('a-secret-of-the-app')
  const without = it.listen(['--insecure', '--port', '0', '--ready-file', 'ready.json'])
  await it.ready()
  without.kill(signal)
  expect((await once(without, 'exit'))[0], it.output.text).toBe(exit)
})

test('webhook of a killed listener returns 30 s later across a restart', { tags: 'borrowed-webhooks/1' }, async () => {
  const it = await scene()
  const child = it.listen(['--bot', it.bot.id, '--ready-file', 'ready.json'])
  const { url } = await it.ready()
  const second = await built.run(['webhook', 'listen', '--bot', it.bot.id, '--json'], it.home)
  expect(second.exit).toBe(6)
  const { code, details } = JSON.parse(second.stderr).error
  expect([code, details.holder]).toEqual(['WEBHOOK_BORROWED', expect.stringContaining(`process ${child.pid} on `)])
  child.kill('SIGKILL')
  await once(child, 'exit')
  await it.stop()
  await it.start()
  it.time.now += 29_000
  await it.sweep()
  expect(await it.urlInEffect()).toBe(`${url}/`)
  it.time.now += 1_000
  await it.sweep()
  await vi.waitFor(async () => expect(await it.urlInEffect()).toBe(OWN), 120_000)
  // A generated secret has 43 characters.
  expect(it.output.text + it.logs() + second.stderr).not.toMatch(/[\w-]{43}/)
})

test('webhook listen --bot polls through a tunnel and sets no webhook', { tags: 'borrowed-webhooks/3' }, async () => {
  const it = await scene()
  const elsewhere = temporaryDir()
  const tunnel = { ...it.env, ...it.tunnel() }
  const args = ['--bot', it.bot.id, '--expect', 'ping=1', '--ready-file', 'ready.json']
  const { exit, stderr } = await built.run(['webhook', 'listen', ...args], elsewhere, tunnel)
  expect([exit, stderr]).toEqual([6, expect.stringContaining('Delete the webhook to poll: `voucherctl webhook delete')])
  expect(stderr).not.toContain('Ready')
  expect(await it.urlInEffect()).toBe(OWN)
  await it.deleteWebhook()
  const child = it.listen([...args, '--json'], tunnel, elsewhere)
  await it.ready(elsewhere)
  await it.ping()
  expect((await once(child, 'close'))[0], it.output.text).toBe(0)
  expect(it.output.text).toContain('"type":"ping"')
  expect(await it.urlInEffect()).toBeNull()
})

test('webhook listen --bot loses no update by kill, restart or SIGINT', { tags: 'polled-deliveries/1' }, async () => {
  const it = await scene()
  await it.deleteWebhook()
  for (let sent = 0; sent < 3; sent += 1) await it.ping()
  const ids: number[] = []
  let held: number | undefined = 2
  const inFlight: ((status: number) => void)[] = []
  const app = await webhookReceiver('a-secret-of-the-app', ({ verdict }) => {
    const id = verdict.ok ? Number(verdict.updateId) : 0
    if (id === held) return new Promise<number>((resolve) => inFlight.push(resolve))
    ids.push(id)
    return 200
  })
  const elsewhere = temporaryDir()
  const env = { ...it.env, ...it.tunnel(), VOUCHERCTL_WEBHOOK_SECRET: 'a-secret-of-the-app' }
  const poll = (...more: string[]) => it.listen(['--bot', it.bot.id, '--forward-to', app.url, ...more], env, elsewhere)
  const until = (expected: () => void) => vi.waitFor(expected, 120_000)
  const said = (words: string) => until(() => expect(it.output.text).toContain(words))
  const killed = poll()
  await until(() => expect(inFlight, it.output.text).toHaveLength(1))
  killed.kill('SIGKILL')
  await once(killed, 'exit')
  expect(ids).toEqual([1])
  expect(await it.waiting()).toEqual(expect.arrayContaining([2, 3]))
  held = undefined
  const child = poll('--secure', 'required')
  await until(() => expect(ids.at(-1), it.output.text).toBe(3))
  expect(ids.slice(ids.indexOf(2))).toEqual([2, 3])
  const port = it.port()
  await it.stop()
  await said('Trying again.')
  await it.start(port)
  await said('Connected again.')
  held = 5
  for (let sent = 0; sent < 3; sent += 1) await it.ping()
  await until(() => expect(inFlight, it.output.text).toHaveLength(2))
  const exited = once(child, 'exit')
  child.kill('SIGINT')
  await said('Ending after the delivery in flight.')
  inFlight[1]?.(200)
  expect([(await exited)[0], ids.slice(-3), await it.waiting()]).toEqual([130, [2, 3, 4], [6]])
})

test('webhook listen --bot refuses retry flags if the server delivers', { tags: 'polled-deliveries/1' }, async () => {
  const it = await scene()
  const { exit, stderr } = await built.run(['webhook', 'listen', '--bot', it.bot.id, '--retry-fast'], it.home, it.env)
  expect([exit, stderr]).toEqual([2, expect.stringContaining('this server delivers and retries itself')])
  expect(await it.urlInEffect()).toBe(OWN)
})

test('listener and trigger say that the allowed_updates of the bot leave out a type', async () => {
  const { home, env, bot, listen, output } = await scene()
  const allowed_updates = ['message'] as const
  await bot.call(contract.webhook.setByBot, { url: OWN, allowed_updates: [...allowed_updates] })
  const child = listen(['--bot', bot.id, '--expect', 'my_chat_member=1', '--port', '0', '--timeout', '1s'])
  const [exit] = await once(child, 'close')
  expect(exit).toBe(124)
  expect(output.text).toMatch(/^warning: The allowed_updates of the bot leave out my_chat_member\./m)
  expect(output.text).toMatch(/^hint: The allowed_updates of the bot leave out my_chat_member\./m)
  const { stderr } = await built.run(['webhook', 'trigger', 'ping', '--bot', bot.id], home, env)
  expect(stderr).toMatch(/^hint: The allowed_updates of the bot leave out ping\./m)
})
