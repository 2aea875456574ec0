import { afterAll, beforeAll, expect, test } from 'vitest'
import { cli } from '../../support/cli/cli.js'
import { type CliServer, cliServer } from '../../support/cli/server.js'
import { httpProxy } from '../../support/http-proxy.js'

let server: CliServer
beforeAll(async () => {
  server = await cliServer()
})
afterAll(() => server.close())

const CREDENTIALS = 'CANARYuser:CANARYpass'
const base64 = Buffer.from(CREDENTIALS).toString('base64')
const remote = () => ({ ...server.env, VOUCHERCTL_BASE_URL: 'http://vouchers.example' })

test.each(['templates list', 'api GET /healthz', 'apps list --all'])(
  '%s calls a remote server through the proxy and shows no credentials of its URL',
  async (command) => {
    const proxy = await httpProxy(Number(new URL(server.baseUrl).port), CREDENTIALS)
    const env = { ...remote(), HTTP_PROXY: proxy.url }
    const { exit, stdout, stderr } = await cli(`${command} --debug`, { env })
    expect([exit, proxy.received.length > 0]).toEqual([0, true])
    const refused = await cli(`${command} --debug --retries 0`, {
      env: { ...env, HTTP_PROXY: proxy.url.replace('pass', 'word') },
    })
    expect(refused.exit).toBe(9)
    expect(refused.stderr).toContain(`${proxy.origin} (HTTP_PROXY)`)
    for (const shown of [stdout, stderr, refused.stdout, refused.stderr]) {
      expect(shown).not.toContain('CANARY')
      expect(shown).not.toContain(base64)
    }
  },
)

test('a local server is called directly, whatever the proxy variables say', async () => {
  const env = { ...server.env, HTTP_PROXY: 'http://127.0.0.1:1', http_proxy: 'malformed://CANARY' }
  expect((await cli('templates list', { env })).exit).toBe(0)
})

test.each([
  'templates list',
  'api GET /healthz',
  'api GET /healthz --curl',
  'secure check',
  'conform --yes',
  'platform activity',
])('%s with a malformed proxy variable exits with 2 and names the variable', { tags: 'proxies/1' }, async (command) => {
  const env = { ...remote(), HTTP_PROXY: 'socks5://CANARY@proxy' }
  const { exit, stdout, stderr } = await cli(command, { env })
  expect([exit, stderr]).toEqual([2, expect.stringContaining('HTTP_PROXY')])
  expect(stdout + stderr).not.toContain('CANARY')
})

test('api --curl names the proxy variable instead of its value', async () => {
  const env = { ...remote(), HTTP_PROXY: `http://${CREDENTIALS}@proxy.example` }
  const { stdout, stderr } = await cli('api GET /healthz --curl', { env })
  expect(stdout).toContain('--proxy "${HTTP_PROXY:?}"')
  expect(stdout + stderr).not.toContain('CANARY')
  expect((await cli('templates list --dry-run', { env })).stdout).not.toContain('CANARY')
})
