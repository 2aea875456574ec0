import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { openerOf } from '../../../../src/cli/commands/open/browser.js'
import { platformOf } from '../../../../src/files/platform.js'
import { cli, refusal, secrets, stub, success, temporaryDir } from '../../../support/cli/cli.js'
import { fakeOpeners } from '../../../support/cli/fake-openers.js'
import { type CliServer, cliServer } from '../../../support/cli/server.js'
import { closedPort } from '../../../support/closed-port.js'

let server: CliServer
beforeAll(async () => {
  server = await cliServer()
})
afterAll(() => server.close())

test('open prints a link that opens the page once, and no operator key', async () => {
  const { exit, stdout, stderr } = await cli('open', { env: server.env })
  expect([exit, stderr]).toEqual([0, ''])
  expect(stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/_platform\/ui\/#ticket=[\w-]{43}\n$/)
  expect(stdout).not.toContain(server.operatorKey)
  const ticket = stdout.trim().split('#ticket=')[1]
  const headers = { origin: server.baseUrl, 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' }
  const exchange = () =>
    fetch(`${server.baseUrl}/_platform/ui/session`, { method: 'POST', headers, body: JSON.stringify({ ticket }) })
  expect([(await exchange()).status, (await exchange()).status]).toEqual([200, 401])
})

test('open --json prints the link and the time until which it is valid', async () => {
  const { stdout } = await cli('open --json', { env: server.env })
  expect(JSON.parse(stdout)).toEqual({
    url: expect.stringContaining(`${server.baseUrl}/_platform/ui/#ticket=`),
    expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
  })
})

test.each(['/vouchers/vch_1?page=2', 'vouchers/vch_1?page=2'])('open %s prints the link of that view', async (view) => {
  const { exit, stdout } = await cli(['open', view], { env: server.env })
  expect(exit).toBe(0)
  expect(stdout.trim().split('#ticket=')[0]).toBe(`${server.baseUrl}/_platform/ui/vouchers/vch_1?page=2`)
})

test.each(['/../v1/clock', '/%2e%2e/v1/clock', '\\..\\..\\v1', '/vouchers#ticket=x'])(
  'open %s is refused without a call, because it is no view of the page',
  async (view) => {
    const { exit, stderr } = await cli(['open', view], {
      env: { ...server.env, VOUCHERCTL_BASE_URL: 'http://127.0.0.1:1' },
    })
    expect(exit).toBe(2)
    expect(stderr).toContain(`${view} is not a view of the page.`)
  },
)

test('open on a terminal starts the browser with the link as one argument and no credential', async () => {
  const { opened, path } = fakeOpeners()
  const env = { ...server.env, PATH: path, DISPLAY: ':0' }
  // A narrow terminal must not break the link.
  const { exit, stdout, stderr } = await cli('open', { env, terminal: true, columns: 60 })
  expect(exit).toBe(0)
  await vi.waitFor(() => expect(existsSync(opened)).toBe(true), 120_000)
  const [count, url, ...rest] = readFileSync(opened, 'utf8').split('\n')
  expect([count, url]).toEqual(['1', stdout.trim()])
  expect(rest.join('\n')).not.toMatch(/VOUCHERCTL_(TOKEN|JWT|OPERATOR_KEY)/)
  expect(stderr).toContain('within two minutes')
})

test('open reports a missing browser and still prints the link', async () => {
  const { exit, stdout, stderr } = await cli('open', {
    env: { ...server.env, PATH: temporaryDir(), DISPLAY: ':0' },
    terminal: true,
  })
  expect(exit).toBe(0)
  expect(stdout).toContain('#ticket=')
  expect(stderr).toContain('No program opens a browser here.')
})

test('open --no-browser on a terminal, and open without a terminal, start no browser', async () => {
  const env = { ...server.env, PATH: temporaryDir() }
  const runs = [cli('open --no-browser', { env, terminal: true }), cli('open', { env })]
  for (const { stderr, stdout } of await Promise.all(runs)) {
    expect(stdout).toContain('#ticket=')
    expect(stderr).not.toContain('No program')
  }
})

test.each([
  ['darwin', ['open']],
  ['win32', ['rundll32', 'url.dll,FileProtocolHandler']],
  ['linux', ['xdg-open']],
  ['freebsd', ['xdg-open']],
] as const)('opener on %s is a program without a shell, with the link as last argument', (platform, command) => {
  const url = 'http://127.0.0.1:8420/_platform/ui/#ticket=A&B'
  expect(openerOf(platformOf(platform), url)).toEqual([...command, url])
})

const errorOf = (stderr: string) => (JSON.parse(stderr) as { error: { code: string; hint: string } }).error

test('open names the command that starts a stopped server', async () => {
  const port = await closedPort()
  const start = `\`voucherctl server start --detach --port ${port}\`.`
  const args = `open --json --retries 0 --base-url http://127.0.0.1:${port}`
  const { exit, stdout, stderr } = await cli(args, { env: { VOUCHERCTL_OPERATOR_KEY: server.operatorKey } })
  expect([exit, stdout]).toEqual([9, ''])
  expect(errorOf(stderr)).toMatchObject({ code: 'NETWORK_ERROR', hint: `Start a server there: ${start}` })
  const keyless = await cli(args)
  expect(keyless.exit).toBe(3)
  expect(errorOf(keyless.stderr)).toMatchObject({
    code: 'CREDENTIAL_REQUIRED',
    hint: expect.stringContaining(`If no server runs there: ${start}`),
  })
})

test('open without any server names the command that starts one', async () => {
  const { exit, stderr } = await cli('open --json')
  expect(exit).toBe(3)
  expect(errorOf(stderr)).toMatchObject({
    code: 'BASE_URL_REQUIRED',
    hint: expect.stringContaining('`voucherctl server start --detach`'),
  })
})

test.each(['https://vouchers.example', 'http://192.0.2.1:8420', 'https://127.0.0.1:8420'])(
  'open refuses %s, which is no local server, before it sends a request',
  async (url) => {
    const { exit, stderr } = await cli(`open --json --base-url ${url}`, { env: secrets })
    expect(exit).toBe(2)
    expect(errorOf(stderr)).toMatchObject({
      code: 'INVALID_INPUT',
      hint: expect.stringContaining('`voucherctl server start --detach`'),
    })
  },
)

const withoutOperator = {
  code: 'PAGE_OFF',
  hint: expect.stringMatching(/`voucherctl server start --detach (?:.* )?--operator on`/),
}

test.each([
  [409, 'PAGE_OFF', { code: 'PAGE_OFF', hint: expect.stringContaining('voucherctl server start') }],
  [404, 'ROUTE_NOT_FOUND', withoutOperator],
])(
  'open with a server without a page, which refuses with %i %s, says how to start one',
  async (status, code, error) => {
    const { baseUrl } = await stub(() => refusal(status, code))
    const { exit, stderr } = await cli(`open --json --base-url ${baseUrl}`, { env: secrets })
    expect(exit).toBe(6)
    expect(errorOf(stderr)).toMatchObject(error)
  },
)

/** Lists this process as a running server, as `server start` does. */
function listServer(home: string, base_url: string, operator_key_file: string | null) {
  const registry = join(home, '.local', 'state', 'voucherctl', 'servers')
  mkdirSync(registry, { recursive: true, mode: 0o700 })
  const started_at = '2026-11-21T10:00:00.000Z'
  const server = { instance_id: 'one', pid: process.pid, data_dir: home, store: 'memory', started_at }
  writeFileSync(join(registry, 'one.json'), JSON.stringify({ ...server, base_url, operator_key_file }))
}

test('open asks for no operator key of a local server that runs without the operator API', async () => {
  const home = temporaryDir()
  const { baseUrl, received } = await stub(() => refusal(404, 'ROUTE_NOT_FOUND'))
  listServer(home, baseUrl, null)
  const { exit, stderr, asked } = await cli(`open --json --base-url ${baseUrl}`, { home, terminal: true })
  expect([exit, asked, received]).toEqual([6, [], []])
  expect(errorOf(stderr)).toMatchObject(withoutOperator)
})

test('open with a local server that is bound beyond loopback says to start it without --host', async () => {
  const home = temporaryDir()
  listServer(home, 'http://0.0.0.0:8420', join(home, 'operator.key'))
  for (const url of ['http://0.0.0.0:8420', 'http://127.0.0.1:8420']) {
    const { exit, stderr } = await cli(`open --json --base-url ${url}`, { home })
    expect(exit).toBe(6)
    expect(errorOf(stderr)).toMatchObject({ code: 'PAGE_OFF', hint: expect.stringContaining('without --host') })
  }
})

test.each([
  'file:///etc/passwd',
  'javascript:alert(1)',
  '--version',
  'https://127.0.0.1/_platform/ui/',
  'http://evil.example/_platform/ui/',
  'http://127.0.0.1.evil.example/',
])('open passes no %s of a server to the browser', async (url) => {
  const { opened, path } = fakeOpeners()
  const { baseUrl } = await stub(() => success({ url, expires_at: '2026-11-21T10:00:00.000Z' }))
  const { exit, stdout, stderr } = await cli(`open --base-url ${baseUrl}`, {
    env: { ...secrets, PATH: path, DISPLAY: ':0' },
    terminal: true,
  })
  expect([exit, stdout]).toEqual([9, ''])
  expect(stderr).toContain('INVALID_RESPONSE')
  expect(existsSync(opened)).toBe(false)
})

test('open encodes control characters and spaces in the link of a server', async () => {
  const url = 'http://127.0.0.1:8420/_platform/ui/#ticket=A\n --b\u001b[2J\u009b'
  const { baseUrl } = await stub(() => success({ url, expires_at: '2026-11-21T10:00:00.000Z' }))
  const { stdout } = await cli(`open --base-url ${baseUrl}`, { env: secrets })
  expect(stdout).toBe('http://127.0.0.1:8420/_platform/ui/#ticket=A%20--b%1B[2J%C2%9B\n')
})
