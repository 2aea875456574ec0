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
  const [home, dataDir] = [temporaryDir(), temporaryDir()]
  const time = { now: 1_000_000 }
  const begin = () =>
    standaloneServer({ dataDir, parts: { leaseNow: () => time.now } } as Partial<ServerOptions> as ServerOptions)
  let server: StandaloneServer = await begin()
  onTestFinished(() => server.close())
  const tenant = await newTenant(server)
  const bot = await tenant.bot()
  await bot.call(contract.webhook.setByBot, { url: OWN, secret_token: 'own-secret' })
  const env = { VOUCHERCTL_JWT: tenant.jwt, VOUCHERCTL_BOT_TOKEN: bot.token }
  const output = { text: '' }
  const listen = (args: readonly string[], more: Record<string, string>) => {
    const child = built.start(['webhook', 'listen', ...args], home, { ...env, ...more })
    onTestFinished(() => void child.kill('SIGKILL'))
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output.text += chunk))
    return child
  }
  const local = () => ({ VOUCHERCTL_BASE_URL: server.baseUrl, VOUCHERCTL_OPERATOR_KEY: server.operatorKey })
  const ready = async (name: string) => {
    await vi.waitFor(() => expect(existsSync(join(home, name)), output.text).toBe(true), 30_000)
    return JSON.parse(readFileSync(join(home, name), 'utf8')) as { url: string }
  }
  const call = (path: string, method: string, token: string, body?: object) =>
    fetch(`${server.baseUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }).then(async (response) => ((await response.json()) as { data: Record<string, unknown> }).data)
  return {
    ...{ home, env, bot, output, listen, local, ready, time },
    restart: async () => {
      await server.close()
      server = await begin()
    },
    urlInEffect: async () => (await call('/api/v1/bots/getWebhookInfo', 'GET', bot.token)).url as string | null,
    ping: () => call(`/_platform/v1/bots/${bot.id}/updates`, 'POST', server.operatorKey, { type: 'ping' }),
    /** Lets the server look for ended leases: a move of the test clock starts its upkeep. */
    sweep: () => call('/_platform/v1/clock/advance', 'POST', server.operatorKey, { seconds: 1 }),
    deleteWebhook: () => call(`/api/v1/bots/my/${bot.id}/webhook`, 'DELETE', tenant.jwt),
    username: async () => (await call(`/api/v1/bots/my/${bot.id}`, 'GET', tenant.jwt)).username as string,
    logs: () => server.logs.join(''),
  }
}

test('webhook listen --bot borrows the webhook by username and returns it at Ctrl-C', async () => {
  const it = await scene()
  const app = await webhookReceiver('a-secret-of-the-app')
  const flags = ['--bot', await it.username(), '--forward-to', app.url, '--ready-file', 'ready.json']
  const child = it.listen(flags, { ...it.local(), VOUCHERCTL_WEBHOOK_SECRET: 'a-secret-of-the-app' })
  const { url } = await it.ready('ready.json')
  expect(await it.urlInEffect()).toBe(`${url}/`)
  await it.ping()
  await vi.waitFor(() => expect(app.received.map(({ verdict }) => verdict.ok)).toEqual([true]), 10_000)
  child.kill('SIGINT')
  expect((await once(child, 'exit'))[0], it.output.text).toBe(130)
  expect(await it.urlInEffect()).toBe(OWN)
  expect(it.output.text + it.logs()).not.toContain('a-secret-of-the-app')
})

test('webhook of a killed listener returns after 30 s of silence, also across a restart', async () => {
  const it = await scene()
  const child = it.listen(['--bot', it.bot.id, '--ready-file', 'ready.json'], it.local())
  const { url } = await it.ready('ready.json')
  const second = await built.run(['webhook', 'listen', '--bot', it.bot.id, '--json'], it.home, it.local())
  expect(second.exit).toBe(6)
  const { code, details } = JSON.parse(second.stderr).error
  expect([code, details.holder]).toEqual(['WEBHOOK_BORROWED', expect.stringContaining(`process ${child.pid} on `)])
  child.kill('SIGKILL')
  await once(child, 'exit')
  await it.restart()
  it.time.now += 29_000
  await it.sweep()
  expect(await it.urlInEffect()).toBe(`${url}/`)
  it.time.now += 1_000
  await it.sweep()
  await vi.waitFor(async () => expect(await it.urlInEffect()).toBe(OWN), 10_000)
})

test('webhook listen --bot without an operator key polls and never changes the webhook', async () => {
  const it = await scene()
  const remote = { VOUCHERCTL_BASE_URL: it.local().VOUCHERCTL_BASE_URL }
  const refused = await built.run(['webhook', 'listen', '--bot', it.bot.id, '--json'], it.home, {
    ...it.env,
    ...remote,
  })
  expect([refused.exit, JSON.parse(refused.stderr).error.code]).toEqual([6, 'WEBHOOK_ACTIVE'])
  expect(await it.urlInEffect()).toBe(OWN)
  await it.deleteWebhook()
  const child = it.listen(['--bot', it.bot.id, '--expect', 'ping=1', '--json', '--ready-file', 'ready.json'], remote)
  await it.ready('ready.json')
  await it.ping()
  expect((await once(child, 'exit'))[0], it.output.text).toBe(0)
  expect(it.output.text).toContain('"type":"ping"')
  expect(await it.urlInEffect()).toBeNull()
})
