import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { templateBody } from '../../../../src/contract/openapi/template-body.js'
import { built } from '../../../support/cli/built-cli.js'
import {
  cli,
  type Received,
  refusal,
  type StubResponse,
  secrets,
  stub,
  success,
  temporaryDir,
} from '../../../support/cli/cli.js'
import { wordsOf } from '../../../support/cli/runnable.js'
import { issuedVoucher, redemption, verification } from '../../../support/cli/samples.js'
import { type CliServer, cliServer } from '../../../support/cli/server.js'
import { closedPort } from '../../../support/closed-port.js'
import { serial } from '../../../support/server/tenant.js'

let server: CliServer
beforeAll(async () => {
  server = await cliServer()
})
afterAll(() => server.close())

/** Pattern of a number such as 9.54 or, on a slow machine, 1,234. */
const figure = '\\d{1,3}(?:,\\d{3})*(?:\\.\\d+)?'
/** 20 calls. */
const short = 'load --template tpl_coffee --rate 400 --duration 50ms --seed 1'
/** Run ids that no other test of the server uses. */
const run = (args: string | readonly string[], more: Parameters<typeof cli>[1] = {}) =>
  cli(args, { env: server.env, newId: () => `run-${serial()}`, ...more })

/** A platform that succeeds unless the callback responds otherwise. */
const platform = (respond: (request: Received, index: number) => StubResponse | undefined = () => undefined) =>
  stub((request, index) => {
    const { external_issue_id: externalIssueId } = request.body as { external_issue_id?: string }
    const data = request.path.endsWith('/verify')
      ? verification
      : request.path.endsWith('/redeem')
        ? redemption
        : { ...issuedVoucher, externalIssueId }
    return respond(request, index) ?? success(data)
  })
const atPlatform = (baseUrl: string) => ({ env: { ...secrets, VOUCHERCTL_BASE_URL: baseUrl } })

test('load prints a line for each operation and for all, with latencies, and exits with 0', async () => {
  const { exit, stdout } = await run(short)
  expect(exit).toBe(0)
  expect(stdout).toMatch(
    /^✓ 20 of 20 calls succeeded in \d+\.\d s\.\n\nin ms +calls +failed +ok\/s +p50 +p90 +p99 +p99\.9 +max\n/,
  )
  expect(stdout).toMatch(new RegExp(`^all +20 +0 +${figure}(?: +${figure}){5}$`, 'm'))
  expect(stdout).toMatch(
    new RegExp(`^This machine: CPU \\d+ % of a core, calls started ${figure} ms late \\(p99 ${figure} ms\\)`, 'm'),
  )
  const lines = stdout.split('\n').filter((it) => !it.startsWith('This machine'))
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(80)
})

test('jq filters of the guide compare two reports of load --json and print a line per second', async () => {
  const guide = readFileSync(new URL('../../../../src/guides/load-tests.md', import.meta.url), 'utf8')
  const [, compare = '', lines = ''] = /^jq -s '(.*)' before.*\njq -r '(.*)' after/m.exec(guide) ?? []
  const { stdout } = await run([...short.split(' '), '--jq', `[., .] | ${compare}`])
  expect(JSON.parse(stdout)).toEqual({
    per_second: [expect.any(Number), expect.any(Number)],
    p99_ms: [expect.any(Number), expect.any(Number)],
    p99_ratio: 1,
  })
  expect((await run([...short.split(' '), '--jq', lines])).stdout).toMatch(/^0,20,0,[\d.]+\n$/)
})

test('load --json has a histogram and a series with each call once', async () => {
  const { histogram, series, all } = JSON.parse((await run(`${short} --json`)).stdout)
  const sum = (rows: readonly { calls: number }[]) => rows.reduce((total, { calls }) => total + calls, 0)
  expect([sum(histogram), sum(series), all.calls]).toEqual([20, 20, 20])
  expect(Object.keys(histogram[0])).toEqual(['operation', 'up_to_ms', 'calls'])
})

test('load --json reports the calls of each operation, and the server has the vouchers', async () => {
  const { exit, stdout } = await run(`${short} --mix issue=50,redeem=50 --recipient crowd --json`)
  expect(exit).toBe(0)
  const report = JSON.parse(stdout)
  expect(report).toMatchObject({
    ...{ ok: true, addresses: [server.baseUrl], template_id: 'tpl_coffee', shape: 'steady', rate: 400, seed: 1 },
    ...{ mix: { issue: 50, verify: 0, redeem: 50 }, warmup_ms: 0, interrupted: false, assertions: [] },
    all: { operation: 'all', calls: 20, succeeded: 20, failed: 0, errors: {}, p99_ms: expect.any(Number) },
    generator: { connections: 64, waiting_max: 0, cpu_percent: expect.any(Number) },
  })
  expect(report.items.map((it: { operation: string }) => it.operation)).toEqual(['issue', 'redeem'])
  const [issue, redeem] = report.items
  const status = 'redeemed' as const
  const redeemed = await server.client.platform.vouchers({ recipient_user_id: 'crowd', status })
  expect(issue.calls + redeem.calls).toBe(20)
  expect(report.issued_ahead).toBe(redeem.calls + 1)
  expect(redeemed.ok && redeemed.data.pagination.total).toBe(redeem.calls + 1)
})

test.each([
  ['errors<=0,p99<1h', 0],
  ['errors>=1', 1],
  ['errors<=0,max<0ms', 1],
])('load --assert %s on a run without failures exits with %i', { tags: 'load/2' }, async (assertion, expected) => {
  const { exit, stdout } = await run([...short.split(' '), '--json', '--assert', assertion])
  expect(exit).toBe(expected)
  const report = JSON.parse(stdout)
  expect(report.ok).toBe(expected === 0)
  expect(report.assertions.map((it: { assertion: string }) => it.assertion)).toEqual(assertion.split(','))
})

test('load marks each assertion that holds and prints its observed value', async () => {
  const { exit, stdout } = await run([...short.split(' '), '--assert', 'errors<0.1%,errors>=1'])
  expect(exit).toBe(1)
  expect(stdout).toMatch(/^✗ 20 of 20 calls succeeded/)
  expect(stdout).toContain('Assertions\n  ✓ errors<0.1%              0 %\n  ✗ errors>=1                0 failed\n')
})

test('load counts refused calls by code, and exits with 1 if no call succeeded', { tags: 'load/2' }, async () => {
  const { baseUrl } = await platform((_, index) => (index < 2 ? undefined : refusal(429, 'RATE_LIMITED')))
  const { exit, stdout } = await cli(`${short} --mix verify=100`, atPlatform(baseUrl))
  expect(exit).toBe(1)
  expect(stdout).toContain('✗ 0 of 20 calls succeeded')
  expect(stdout).toMatch(/^verify +20 +20 +0(?: +-){5}$/m)
  expect(stdout).toContain('Failed\n        20  verify    RATE_LIMITED\n')
})

test('load exits with 1 after a used-up quota, and names commands that help', { tags: 'load/2' }, async () => {
  const home = temporaryDir()
  const voucherctl = (args: readonly string[]) => built.run(args, home, { ...server.env })
  const template = { ...templateBody, external_template_id: `small-${serial()}`, issue_limit: 8 }
  const created = await server.client.templates.create(template)
  const id = created.ok ? created.data.id : ''
  await server.client.templates.submit({ templateId: id })
  await server.client.platform.approveTemplate({ templateId: id })
  const load = ['load', '--rate', '400', '--duration', '50ms', '--seed', '1', '--template']
  const spent = await voucherctl([...load, id, '--json'])
  expect([spent.exit, JSON.parse(spent.stdout)]).toMatchObject([
    1,
    { ok: false, all: { succeeded: expect.any(Number) } },
  ])
  expect(JSON.parse(spent.stdout).all.errors).toEqual({ TEMPLATE_QUOTA_EXHAUSTED: expect.any(Number) })
  expect(JSON.parse(spent.stdout).all.succeeded).toBeGreaterThan(0)
  const [, create = '', approve = ''] = /`voucherctl ([^`]+)`.*`voucherctl ([^`]+)`/.exec(spent.stderr) ?? []
  for (const line of [create, approve]) expect((await voucherctl(wordsOf(line))).exit, line).toBe(0)
  expect((await voucherctl([...load, 'load'])).exit).toBe(0)
  // Before a run, the refusal itself ends the command, with the same advice.
  const before = await voucherctl([...load, id])
  expect([before.exit, before.stderr]).toEqual([6, expect.stringContaining(create)])
})

test.each(['TEMPLATE_VALIDITY_ENDED', 'VOUCHER_EXPIRED', 'VOUCHER_NOT_YET_VALID'])(
  'load exits with 1 if calls fail with %s, which says nothing about the server',
  async (code) => {
    const { baseUrl } = await platform((_, index) => (index < 12 ? undefined : refusal(409, code)))
    const { exit, stderr } = await cli(`${short} --mix verify=100`, atPlatform(baseUrl))
    expect([exit, stderr]).toEqual([1, expect.stringContaining('`voucherctl templates create ')])
  },
)

test('load on a terminal explains after a 429 how to start a local server without limits', async () => {
  const { baseUrl } = await platform((_, index) => (index < 3 ? undefined : refusal(429, 'RATE_LIMITED')))
  const { exit, stderr } = await cli(`${short} --mix verify=100`, { ...atPlatform(baseUrl), terminal: true })
  expect([exit, stderr]).toEqual([0, expect.stringContaining('`voucherctl server start --rate-limit off`')])
})

test('load exits with 9 before the run, without an idempotency key, if no server responds', async () => {
  const { exit, stdout, stderr } = await cli(short, atPlatform(`http://127.0.0.1:${await closedPort()}`))
  expect([exit, stdout]).toEqual([9, ''])
  expect(stderr).toContain('NETWORK_ERROR')
  expect(stderr).not.toContain('--idempotency-key')
})

test('load exits with 5 before the run if the template does not exist', async () => {
  const { exit, stderr } = await run('load --template tpl_nowhere --duration 10ms')
  expect([exit, stderr]).toEqual([5, expect.stringContaining('TEMPLATE_NOT_FOUND')])
})

test('load exits 7 before the run if the platform limits the calls that issue vouchers ahead', async () => {
  const { baseUrl } = await platform(() => refusal(429, 'RATE_LIMITED'))
  const { exit, stderr } = await cli(`${short} --retries 0`, atPlatform(baseUrl))
  expect([exit, stderr]).toEqual([7, expect.stringContaining('--rate-limit off')])
})

test('load continues when the server drops connections, and counts NETWORK_ERROR', async () => {
  const { baseUrl } = await platform((_, index) => (index < 12 ? undefined : { drop: true }))
  const { exit, stdout } = await cli(`${short} --mix verify=100 --json`, atPlatform(baseUrl))
  expect(exit).toBe(0)
  expect(JSON.parse(stdout).all).toMatchObject({ calls: 20, succeeded: 10, failed: 10, errors: { NETWORK_ERROR: 10 } })
})

test('load after Ctrl-C prints the report of the calls so far and exits with 130', { tags: 'load/2' }, async () => {
  const stop = new AbortController()
  const { baseUrl } = await platform((_, index) => {
    if (index === 11) stop.abort()
    return undefined
  })
  const given = { ...atPlatform(baseUrl), signal: stop.signal }
  const { exit, stdout } = await cli('load --template tpl_01 --rate 50 --duration 1h --mix verify=100 --json', given)
  expect(exit).toBe(130)
  const report = JSON.parse(stdout)
  expect(report).toMatchObject({ interrupted: true, all: { failed: 0 } })
  expect(report.all.succeeded).toBeLessThan(10)
})

test('load after Ctrl-C before the run prints nothing and exits with 130', async () => {
  const stop = new AbortController()
  const { baseUrl } = await platform((_, index) => {
    if (index === 3) stop.abort()
    return undefined
  })
  const given = { ...atPlatform(baseUrl), signal: stop.signal }
  const { exit, stdout, stderr } = await cli('load --template tpl_01 --rate 50 --duration 1h --mix redeem=100', given)
  expect([exit, stdout, stderr]).toEqual([130, '', expect.stringContaining('ABORTED')])
})

test('load calls the base URL and each --address in turn', async () => {
  const [one, other] = [await platform(), await platform()]
  const { exit } = await cli(`${short} --mix verify=100 --address ${other.baseUrl}`, atPlatform(one.baseUrl))
  expect(exit).toBe(0)
  const verified = (it: typeof one) => it.received.filter(({ path }) => path.endsWith('/verify')).length
  expect([verified(one), verified(other)].sort()).toEqual([10, 11])
})

test('load sends a stored credential only to the server for which it was stored', async () => {
  const [own, other] = [await platform(), await platform()]
  const home = temporaryDir()
  const profile = {
    base_url: own.baseUrl,
    credentials: { token: { value: secrets.VOUCHERCTL_TOKEN, origin: own.baseUrl } },
  }
  writeFileSync(join(home, 'config.json'), JSON.stringify({ profiles: { default: profile } }), { mode: 0o600 })
  const { exit, stderr } = await cli(`${short} --address ${other.baseUrl}`, { env: { VOUCHERCTL_CONFIG_DIR: home } })
  expect([exit, stderr]).toEqual([3, expect.stringContaining('CREDENTIAL_REQUIRED')])
  expect([own.received, other.received]).toEqual([[], []])
})

test('load with the same seed repeats the order of operations', async () => {
  const orderOf = async (seed: number) => {
    const { baseUrl, received } = await platform()
    await cli(`load --template tpl_01 --rate 400 --duration 50ms --connections 1 --seed ${seed}`, atPlatform(baseUrl))
    return received.map((it) => it.path)
  }
  expect(await orderOf(5)).toEqual(await orderOf(5))
})

test('load --dry-run names the calls and sends none', async () => {
  const { baseUrl, received } = await platform()
  const { exit, stdout } = await cli(`load --template tpl_01 --rate 100 --duration 10s --dry-run`, atPlatform(baseUrl))
  expect(exit).toBe(0)
  expect(stdout).toMatch(
    /would issue 1\d\d vouchers ahead, then send 300 issue, 500 verify, 200 redeem calls in 10 s to http:/,
  )
  expect(received).toEqual([])
})

/** Environment of a production profile of a platform that succeeds. */
async function production() {
  const { baseUrl, received } = await platform()
  const home = temporaryDir()
  const config = { current: 'live', profiles: { live: { base_url: baseUrl, production: true } } }
  writeFileSync(join(home, 'config.json'), JSON.stringify(config), { mode: 0o600 })
  return { env: { ...secrets, VOUCHERCTL_CONFIG_DIR: home }, received }
}

const inProduction = 'load --template tpl_01 --duration 10ms --mix verify=100'

test('load above 10 calls a second on a production profile needs --yes', { tags: 'load/1' }, async () => {
  const { env, received } = await production()
  for (const terminal of [true, false]) {
    const { exit, stderr, asked } = await cli(`${inProduction} --rate 11`, { env, terminal })
    expect([exit, asked]).toEqual([3, []])
    expect(stderr).toContain('need --yes')
    expect(stderr).toContain('--rate 11 --yes')
  }
  expect(received).toEqual([])
  expect((await cli(`${inProduction} --rate 11 --yes`, { env })).exit).toBe(0)
})

test('load on production asks for the profile name up to 10 calls a second', { tags: 'confirmations/1' }, async () => {
  const { env, received } = await production()
  expect((await cli(inProduction, { env })).exit).toBe(3)
  const other = await cli(inProduction, { env, terminal: true, replies: ['yes'] })
  expect([other.exit, received]).toEqual([3, []])
  const typed = await cli(inProduction, { env, terminal: true, replies: ['live'] })
  expect(typed.exit).toBe(0)
  expect(typed.asked[0]).toMatch(/^Sending up to 10 calls a second to http:/)
})

test.each([
  ['--rate 0', '--rate must be a whole number from 1 to 100000'],
  ['--rate NaN', '--rate must be a whole number from 1 to 100000'],
  ['--duration 0', '--duration must be a duration'],
  ['--rate 100000 --duration 24h', '8,640,000,000 calls'],
  ['--mix issue=30,verify=30', '--mix must add up to 100, not 60'],
  ['--assert p99<50', '"p99<50" is wrong at character 5, "50"'],
  ['--mix issue=100 --assert verify.p99<50ms', 'needs verify calls, and --mix has none'],
  ['--duration 1s --warmup 1s', '--warmup must be shorter than --duration'],
  ['--address ftp://vouchers.example', '--address must be an http or https URL'],
  ['--connections 0', '--connections must be a whole number'],
  ['--idempotency-key k', '--idempotency-key has no meaning'],
])('load with the flags %s exits with 2 and says "%s"', async (flags, message) => {
  const { exit, stderr } = await run(`load --template tpl_coffee ${flags}`)
  expect([exit, stderr]).toEqual([2, expect.stringContaining(message)])
})
