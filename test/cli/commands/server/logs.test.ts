import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cli, secrets, temporaryDir } from '../../../support/cli/cli.js'
import { listen } from '../../../support/listen.js'

const request = { time: 'T', method: 'GET', path: '/healthz', status: 200, code: null, duration_ms: 1.25 }

function logs(args: string) {
  const dir = join(temporaryDir(), 'data')
  mkdirSync(dir)
  writeFileSync(join(dir, 'server.log'), `${JSON.stringify(request)}\n{"time":"T","msg":"stopped"}\nno JSON\n`)
  return cli(`server logs --data ${dir} ${args}`)
}

test('server logs formats JSON lines of the log file and prints other lines unchanged', async () => {
  expect((await logs('')).stdout).toBe('T 200 GET       1.3 ms /healthz\nT stopped\nno JSON\n')
})

test('server logs --fields selects members of each log entry', async () => {
  const lines = (await logs('--fields method,status')).stdout.trim().split('\n')
  expect(JSON.parse(lines[0] ?? '')).toEqual({ method: 'GET', status: 200 })
  expect(lines).toHaveLength(3)
})

const entry = (status: number, endpoint: string, id: string) => ({
  time: '2026-11-21T10:00:00.000Z',
  request_id: id,
  endpoint,
  method: 'POST',
  path: '/api/v1/open-platform/vouchers/redeem',
  status,
  code: status >= 400 ? 'VOUCHER_NOT_FOUND' : null,
  replayed: false,
  duration_ms: 1,
})

/** Runs `server logs` on a log file with these entries; resolves to the request ids that it prints. */
async function shownBy(args: string): Promise<readonly string[]> {
  const dir = temporaryDir()
  const entries = [
    entry(200, 'platform.requests', 'r1'),
    entry(200, 'vouchers.redeem', 'r2'),
    entry(404, 'vouchers.redeem', 'r3'),
    entry(503, 'vouchers.verify', 'r4'),
    entry(200, 'health.live', 'r5'),
  ]
  writeFileSync(join(dir, 'server.log'), entries.map((it) => `${JSON.stringify(it)}\n`).join(''))
  const { stdout } = await cli(`server logs --data ${dir} --json ${args}`)
  return stdout
    .split('\n')
    .flatMap((line) => (line === '' ? [] : (JSON.parse(line) as { request_id: string }).request_id))
}

test.each([
  ['', ['r2', 'r3', 'r4']],
  ['--status 4xx --status 503', ['r3', 'r4']],
  ['--status 200 --endpoint vouchers.redeem', ['r2']],
  ['--endpoint health.live', ['r5']],
  ['--request-id r1', ['r1']],
  ['--tail 1', ['r4']],
  ['--tail 1 --status 2xx', ['r2']],
  ['--tail 0', []],
])('server logs %s prints matching requests of programs', { tags: 'request-log/1' }, async (args, ids) => {
  expect(await shownBy(args)).toEqual(ids)
})

test('server logs --endpoint refuses an unknown endpoint and suggests the closest one', async () => {
  const { exit, stderr } = await cli('server logs --endpoint vouchers.redem')
  expect([exit, stderr]).toEqual([2, expect.stringContaining('Did you mean vouchers.redeem?')])
})

test('log line drops the beginning of a path to fit a terminal of 80 columns', async () => {
  const dir = temporaryDir()
  writeFileSync(join(dir, 'server.log'), `${JSON.stringify(entry(404, 'vouchers.redeem', 'r1'))}\n`)
  const env = { NO_COLOR: '1' }
  const { stdout } = await cli(`server logs --data ${dir}`, { terminal: true, columns: 80, env })
  expect(stdout).toBe('11-21 10:00:00Z 404 POST      1.0 ms …platform/vouchers/redeem VOUCHER_NOT_FOUND\n')
})

test('server logs colours the status on a terminal', async () => {
  const dir = temporaryDir()
  writeFileSync(join(dir, 'server.log'), `${JSON.stringify(entry(404, 'vouchers.redeem', 'r1'))}\n`)
  const { stdout } = await cli(`server logs --data ${dir}`, { terminal: true, columns: 80, env: { TERM: 'xterm' } })
  expect(stdout).toContain('\u001b[33m404\u001b[39m')
})

test('server logs --follow --tail prints each past entry once, then new ones', async () => {
  const lines = (...entries: object[]) => entries.map((it) => `${JSON.stringify(it)}\n`).join('')
  const [a, b, c] = ['a', 'b', 'c'].map((id) => entry(200, 'vouchers.redeem', id)) as [object, object, object]
  const server = createServer((request, response) => {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' })
    response.end(request.url?.includes('follow') ? lines(a, b, c) : lines(a, b))
  })
  const baseUrl = `http://127.0.0.1:${await listen(server)}`
  const { stdout } = await cli(`server logs --follow --tail 1 --json --base-url ${baseUrl}`, { env: secrets })
  expect(stdout).toBe(lines(b, c))
})
