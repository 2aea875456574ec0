import { existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { templateBody } from '../../../../src/contract/openapi/template-body.js'
import { defaultSeed } from '../../../../src/testing/options.js'
import { cli, stub, temporaryDir } from '../../../support/cli/cli.js'
import { type CliServer, cliServer } from '../../../support/cli/server.js'
import { closedPort } from '../../../support/closed-port.js'

let server: CliServer
beforeAll(async () => {
  server = await cliServer()
})
afterAll(() => server.close())

const emptyList = { status: 200, body: { success: true, data: { items: [], pagination: {} }, requestId: 'req_1' } }
/** A platform that accepts every limit. */
const deviant = () => stub(() => emptyList)

const limits = 'conform --only lists/limit-of-101,lists/limit-of-0'

test('conform prints a line for each group and exits with 0 if every statement holds', async () => {
  const { exit, stdout, stderr } = await cli('conform --only lists/pagination,lists/limit-of-100', { env: server.env })
  expect(exit).toBe(0)
  expect(stdout).toMatch(/^✓ http:\/\/127\.0\.0\.1:\d+: (\d+) of \1 statements hold\.\n\n/)
  expect(stdout).toMatch(/\ngroup +holds +differs +not applicable +not tested\ncalls +\d+ +0 +0 +0\n$/)
  expect(stderr).toBe('')
})

test('conform shows a difference with statement, both values and the request without the token', async () => {
  const { baseUrl: url } = await deviant()
  const env = { ...server.env, VOUCHERCTL_BASE_URL: url }
  const { exit, stdout } = await cli('conform --only lists/limit-of-101', { env })
  expect(exit).toBe(12)
  expect(stdout).toBe(`✗ ${url}: 0 of 1 statements hold, 1 difference (0 specified).
decided protocol: lists (1)

✗ lists/limit-of-101
    A list with the limit 101 is refused with 400.
    basis     decided by the reference, where the interface is silent (protocol)
    expected  status 400
    observed  status 200, a success
    curl -sSgi --path-as-is \\
      '${url}/api/v1/open-platform/vouchers/templates?limit=101' \\
      -H 'accept: application/json' \\
      -H "authorization: Bearer \${VOUCHERCTL_TOKEN}"

group                 holds        differs not applicable     not tested
calls                     0              1              0              0
`)
})

test('conform --json prints one document, and --junit writes a report with the same failure', async () => {
  const { baseUrl: url } = await deviant()
  const cwd = temporaryDir()
  const env = { ...server.env, VOUCHERCTL_BASE_URL: url }
  const { exit, stdout, stderr } = await cli(`${limits} --json --junit report.xml`, { env, cwd })
  expect([exit, stderr]).toEqual([12, ''])
  const report = JSON.parse(stdout)
  expect(report).toMatchObject({ ok: false, base_url: url, interrupted: false, holds: 0, differs: 2, left: [] })
  expect(report.items[0]).toEqual({
    probe: 'lists/limit-of-0',
    group: 'calls',
    rule: 'lists',
    basis: 'decided',
    kind: 'protocol',
    missing_path: null,
    title: 'A list with the limit 0 is refused with 400.',
    result: 'differs',
    reason: null,
    expected: 'status 400',
    observed: 'status 200, a success',
    request: expect.stringContaining('${VOUCHERCTL_TOKEN}'),
    variables: {},
    duration_ms: expect.any(Number),
  })
  const junit = readFileSync(join(cwd, 'report.xml'), 'utf8')
  expect(junit).toContain('<testsuite name="calls" tests="2" failures="2"')
  expect(junit).toContain('expected status 400, observed status 200, a success')
  expect(junit).toContain('Basis: decided by the reference, where the interface is silent')
})

test('conform sends nothing if the JUnit report cannot be written', async () => {
  const { baseUrl: url, received } = await deviant()
  const env = { ...server.env, VOUCHERCTL_BASE_URL: url }
  const { exit, stdout, stderr } = await cli(`${limits} --junit no/report.xml`, { env, cwd: temporaryDir() })
  expect([exit, stdout, received]).toEqual([1, '', []])
  expect(stderr).toContain('no/report.xml cannot be written (ENOENT)')
})

test('conform sends nothing if the file of --out cannot be written', async () => {
  const { baseUrl: url, received } = await deviant()
  const env = { ...server.env, VOUCHERCTL_BASE_URL: url }
  for (const file of ['no/out.ndjson', '/proc/out.ndjson']) {
    const { exit, stdout, stderr } = await cli(`${limits} --out ${file}`, { env, cwd: temporaryDir() })
    expect([exit, stdout, received]).toEqual([1, '', []])
    expect(stderr).toContain(`${file} cannot be written (E`)
  }
})

test('conform prints its report although the JUnit report became unwritable during the run', async () => {
  const cwd = temporaryDir()
  const folder = join(cwd, 'reports')
  mkdirSync(folder)
  const { baseUrl: url } = await stub(() => {
    rmSync(folder, { recursive: true, force: true })
    return emptyList
  })
  const env = { ...server.env, VOUCHERCTL_BASE_URL: url }
  const { exit, stdout, stderr } = await cli(`${limits} --json --junit reports/report.xml`, { env, cwd })
  expect([exit, JSON.parse(stdout).differs]).toEqual([1, 2])
  expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'FILE_UNWRITABLE' } })
})

test('conform without a credential exits with 4 and names it and how to give it', async () => {
  const env = { VOUCHERCTL_BASE_URL: server.baseUrl }
  const { exit, stdout, stderr } = await cli('conform --only lists', { env })
  expect([exit, stderr]).toEqual([4, expect.stringMatching(/application token \(VOUCHERCTL_TOKEN\)[^]*`voucherctl /i)])
  expect((await cli('conform --only lists --allow-skips', { env })).exit).toBe(0)
  expect(stdout).toContain('Needs an application token (VOUCHERCTL_TOKEN, or in the profile).')
})

test('conform exits with 9 if the platform does not respond, and leaves no file', async () => {
  const cwd = temporaryDir()
  const env = { ...server.env, VOUCHERCTL_BASE_URL: `http://127.0.0.1:${await closedPort()}` }
  const { exit, stderr } = await cli('conform --out results.ndjson', { env, cwd })
  expect(exit).toBe(9)
  expect(stderr).toContain('NETWORK_ERROR')
  expect(existsSync(join(cwd, 'results.ndjson'))).toBe(false)
})

/** A platform that responds with empty lists, and with `status` from the call with the index `from`; 200 without JSON. */
const failing = (status: number, from: number, headers: Record<string, string> = {}) =>
  stub((_request, index) => (index < from ? emptyList : { status, headers, body: status === 200 ? undefined : {} }))

test.each([
  [429, { 'retry-after': '3600' }],
  [503, { 'retry-after': '3600' }],
  [502, {}],
  [500, {}],
  [403, {}],
  [302, { location: '/login' }],
  [200, { 'content-type': 'text/html' }],
])('conform exits with 9 and counts the probes that a platform with %d left untested', async (status, headers) => {
  const { baseUrl: url } = await failing(status, 3, headers)
  const cwd = temporaryDir()
  const env = { ...server.env, VOUCHERCTL_BASE_URL: url }
  const only = 'lists/limit-of-100,lists/page-after-the-last,lists/status-filter,lists/second-page'
  const run = `conform --read-only --only ${only} --allow-skips --fail-on specified --junit report.xml --json`
  const { exit, stdout, stderr } = await cli(run, { env, cwd })
  const { ok, not_reachable, reasons } = JSON.parse(stdout)
  expect([exit, ok, not_reachable]).toEqual([9, false, 2])
  expect(reasons).toContainEqual({ result: 'not_reachable', reason: expect.stringContaining(`${status}`), count: 2 })
  expect(JSON.parse(stderr).error).toMatchObject({
    code: 'PROBES_UNTESTED',
    message: '2 of 4 probes were not tested: the platform was not reachable.',
  })
  expect(readFileSync(join(cwd, 'report.xml'), 'utf8')).toMatch(/errors="2".*\n[^]*<error message="[^"]*[Ss]tatus \d+/)
})

test('conform exits with 2 and names the template that has no vouchers left', async () => {
  const templates = [{ ...templateBody, id: 'tpl_coffee', issue_limit: 1 }]
  const applications = (defaultSeed.applications ?? []).map((it) => ({ ...it, templates }))
  const used = await cliServer({ seed: { ...defaultSeed, applications } })
  const probes = 'issue/three-members,issue/external_issue_id-of-128,lists/limit-of-100'
  const { exit, stdout, stderr } = await cli(`conform --template tpl_coffee --only ${probes}`, { env: used.env })
  expect([exit, stderr]).toEqual([2, expect.stringContaining('--template tpl_coffee has no voucher left (1 of 1')])
  expect(stdout).toMatch(/^✗ \S+: 2 of 2 statements hold, 1 not tested\.$/m)
  await used.close()
})

test('conform exits with 2 and names a template that cannot issue', async () => {
  const draft = await server.client.templates.create({ ...templateBody, external_template_id: 'conform-draft' })
  for (const [id, state] of [
    [draft.ok ? draft.data.id : '', 'draft'],
    ['tpl_nothing', 'unknown'],
  ]) {
    const command = `conform --template ${id} --only issue/three-members`
    const { exit, stderr } = await cli(command, { env: server.env })
    expect([exit, stderr]).toEqual([2, expect.stringContaining(`--template ${id} is ${state}, not active.`)])
  }
})

test('conform with a token that the platform refuses exits with 4 even with --allow-skips', async () => {
  const env = { ...server.env, VOUCHERCTL_TOKEN: `${server.env.VOUCHERCTL_TOKEN}x` }
  const { exit, stdout, stderr } = await cli('conform --only lists --allow-skips', { env })
  expect([exit, stdout]).toEqual([4, ''])
  expect(stderr).toContain('The platform refuses an application token (VOUCHERCTL_TOKEN')
})

test('conform exits with 4 if the platform stops accepting a token, and accuses no rule', async () => {
  const { baseUrl: url } = await failing(401, 3)
  const env = { ...server.env, VOUCHERCTL_BASE_URL: url }
  const only = 'lists/limit-of-100,lists/page-after-the-last,lists/limit-of-101'
  const { exit, stdout, stderr } = await cli(`conform --only ${only} --allow-skips --json`, { env })
  expect([exit, JSON.parse(stdout)]).toMatchObject([4, { differs: 0, not_usable: 3, refused: ['token'] }])
  expect(stderr).toContain('3 of 3 probes were not tested: The platform no longer accepts an application token')
})

test('conform --resume runs only probes that have no result yet, and reports all', async () => {
  const cwd = temporaryDir()
  const { env } = server
  await cli('conform --only lists/limit-of-0 --out results.ndjson', { env, cwd })
  const file = join(cwd, 'results.ndjson')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  // The end of a run that was killed while it wrote.
  writeFileSync(file, '{"probe":"lists/lim', { flag: 'a' })
  expect((await cli(`${limits} --out results.ndjson`, { env, cwd })).stderr).toContain('results.ndjson exists.')
  symlinkSync('nothing', join(cwd, 'link.ndjson'))
  expect((await cli(`${limits} --out link.ndjson`, { env, cwd })).stderr).toContain('link.ndjson exists.')
  const { exit, stdout } = await cli(`${limits} --out results.ndjson --resume --json`, { env, cwd })
  expect(exit).toBe(0)
  const probes = JSON.parse(stdout).items.map((it: { probe: string }) => it.probe)
  expect(probes).toEqual(['lists/limit-of-0', 'lists/limit-of-101'])
  const lines = readFileSync(file, 'utf8').split('\n')
  expect(lines.filter((it) => it.includes('"lists/limit-of-0"'))).toHaveLength(1)
})

test('conform --resume refuses the results of another platform', async () => {
  const cwd = temporaryDir()
  writeFileSync(join(cwd, 'results.ndjson'), '{"version":1,"base_url":"https://other.example"}\n')
  const { exit, stderr } = await cli('conform --out results.ndjson --resume', { env: server.env, cwd })
  expect([exit, stderr]).toEqual([2, expect.stringContaining(`does not hold results for ${server.baseUrl}`)])
})

test('conform ends after Ctrl-C with the results so far, exit code 130', async () => {
  const stop = new AbortController()
  const { baseUrl: url } = await stub((_request, index) => {
    if (index > 0) stop.abort()
    return { status: 404, body: {} }
  })
  const env = { ...server.env, VOUCHERCTL_BASE_URL: url }
  const { exit, stdout } = await cli('conform --only lists --json', { env, signal: stop.signal })
  expect(exit).toBe(130)
  expect(JSON.parse(stdout)).toMatchObject({ interrupted: true, items: [] })
})

test.each([
  ['--only lsts', 'Did you mean lists?'],
  ['--resume', '--resume needs --out.'],
  ['--webhook-port 9100', '--webhook-port needs --webhook-url.'],
  ['--webhook-url https://hooks.example/x', 'needs --webhook-port N'],
  ['--token-file token', '--token-file holds one credential'],
])('conform refuses %s and says why', async (flags, message) => {
  const { exit, stderr } = await cli(`conform ${flags}`, { env: server.env })
  expect([exit, stderr]).toEqual([2, expect.stringContaining(message)])
})

test('conform --fail-on specified exits with 0 for differences from decisions only', async () => {
  const { baseUrl: url } = await deviant()
  const env = { ...server.env, VOUCHERCTL_BASE_URL: url }
  expect((await cli(`${limits} --fail-on specified`, { env })).exit).toBe(0)
  expect((await cli(`${limits} --fail-on any`, { env })).exit).toBe(12)
})

test('conform exits with 1 and names in one line the paths that a platform lacks', async () => {
  const { baseUrl: url } = await stub(() => ({ status: 404, body: '<h1>Not found</h1>' }))
  const env = { ...server.env, VOUCHERCTL_BASE_URL: url }
  const { exit, stdout } = await cli(`${limits} --fail-on specified`, { env })
  expect(exit).toBe(1)
  expect(stdout).toMatch(
    /^✗ The platform does not have: GET \/api\/v1\/open-platform\/vouchers\/templates\s+\(2 probes\)$/m,
  )
  expect(stdout).not.toContain('✗ lists/')
})

test('conform exits with 12 for a difference, and prints which credential was missing too', async () => {
  const { baseUrl: url } = await deviant()
  const env = { VOUCHERCTL_BASE_URL: url, VOUCHERCTL_TOKEN: server.env.VOUCHERCTL_TOKEN ?? '' }
  const { exit, stderr } = await cli(`${limits},token-form/application-token`, { env })
  expect([exit, stderr]).toEqual([12, expect.stringContaining('VOUCHERCTL_JWT')])
})

test('conform asks before it tests a production profile', { tags: 'confirmations/1' }, async () => {
  const home = temporaryDir()
  await cli('profiles set shop --production', { env: server.env, home })
  const { exit, stderr } = await cli('conform --profile shop', { env: server.env, home })
  expect(exit).toBe(3)
  expect(stderr).toContain(`Testing ${server.baseUrl} needs a confirmation on a production server.`)
})

test('conform --read-only tests a production profile without a question', { tags: 'confirmations/1' }, async () => {
  const home = temporaryDir()
  await cli('profiles set shop --production', { env: server.env, home })
  const command = 'conform --read-only --only lists/limit-of-100 --profile shop'
  const { exit, stderr } = await cli(command, { env: server.env, home })
  expect([exit, stderr]).toEqual([0, ''])
})
