import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cli, stub } from '../../../support/cli/cli.js'
import { type CliServer, cliServer } from '../../../support/cli/server.js'
import { closedPort } from '../../../support/closed-port.js'

let server: CliServer
const cwd = mkdtempSync(join(tmpdir(), 'voucherctl-test-'))
beforeAll(async () => {
  server = await cliServer()
  await cli('conform --only lists --record session.ndjson', { env: server.env, cwd, home: cwd })
})
afterAll(async () => {
  rmSync(cwd, { recursive: true })
  await server.close()
})

const path = join(cwd, 'session.ndjson')

test('conform --record writes a file for its owner only, which holds no credential', () => {
  const text = readFileSync(path, 'utf8')
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(text).toContain('${VOUCHERCTL_TOKEN}')
  for (const secret of [server.token, server.jwt]) expect(text).not.toContain(secret)
})

test('conform --record leaves an existing file as it is, and writes none for a silent platform', async () => {
  const before = readFileSync(path, 'utf8')
  expect((await cli('conform --only lists --record session.ndjson', { env: server.env, cwd })).exit).toBe(1)
  expect(readFileSync(path, 'utf8')).toBe(before)
  const env = { ...server.env, VOUCHERCTL_BASE_URL: `http://127.0.0.1:${await closedPort()}` }
  expect((await cli('conform --only lists --record new.ndjson', { env, cwd })).exit).toBe(9)
  expect(existsSync(join(cwd, 'new.ndjson'))).toBe(false)
})

test('conform --replay exits with 0 if each response is as recorded', async () => {
  const { exit, stdout, stderr } = await cli('conform --replay session.ndjson', { env: server.env, cwd })
  expect([exit, stderr]).toEqual([0, ''])
  expect(stdout).toMatch(/^✓ http:\/\/127\.0\.0\.1:\d+: [1-9]\d* same, 0 different, 2 not replayable\.\n$/m)
})

test('conform --replay exits with 1 and shows the differences of a platform that has changed', async () => {
  const { baseUrl } = await stub(() => ({ status: 200, body: { success: true, data: { items: 1 }, requestId: 'r' } }))
  const env = { ...server.env, VOUCHERCTL_BASE_URL: baseUrl }
  const { exit, stdout } = await cli('conform --replay session.ndjson', { env, cwd })
  expect(exit).toBe(1)
  expect(stdout).toContain('    status: 200 instead of 400 VALIDATION_FAILED\n')
  expect(stdout).toContain('    /data/items: number instead of list\n')
  expect(stdout).toContain('    /data/pagination: missing (recorded: object)\n')
  const json = await cli('conform --replay session.ndjson --json', { env, cwd })
  expect(JSON.parse(json.stdout)).toMatchObject({
    ok: false,
    base_url: baseUrl,
    recording: { base_url: server.baseUrl, recorded_at: expect.any(String) },
    interrupted: false,
    items: expect.arrayContaining([
      {
        exchange: expect.any(Number),
        probe: 'lists/limit-of-0',
        request: 'GET /api/v1/open-platform/vouchers/templates?limit=0',
        result: 'differs',
        differences: [{ at: 'status', recorded: '400 VALIDATION_FAILED', replayed: '200' }],
        reason: null,
      },
    ]),
  })
})

test('conform --replay refuses a damaged file with line and cause, before it sends anything', async () => {
  const lines = readFileSync(path, 'utf8').split('\n')
  writeFileSync(join(cwd, 'damaged.ndjson'), lines.toSpliced(2, 1).join('\n'))
  const { exit, stdout, stderr } = await cli('conform --replay damaged.ndjson --json', { cwd })
  expect([exit, stdout]).toEqual([2, ''])
  expect(JSON.parse(stderr).error.message).toBe(
    'damaged.ndjson:3: this line is not exchange 2: a line is missing, or was moved or added.',
  )
})

test.each([
  ['--replay session.ndjson --record new.ndjson', '--record'],
  ['--replay session.ndjson --only lists', '--only'],
  ['--record new.ndjson --out new-results.ndjson --resume', '--resume'],
])('conform %s is refused and names the flag', async (args, flag) => {
  const { exit, stderr } = await cli(`conform ${args}`, { env: server.env, cwd })
  expect(exit).toBe(2)
  expect(stderr).toContain(flag)
})

test('conform --replay --dry-run says how many exchanges it would send, and sends none', async () => {
  const env = { ...server.env, VOUCHERCTL_BASE_URL: 'http://127.0.0.1:1' }
  const { exit, stdout } = await cli('conform --replay session.ndjson --dry-run', { env, cwd })
  expect(exit).toBe(0)
  expect(stdout).toMatch(/\d+ exchanges/)
})
