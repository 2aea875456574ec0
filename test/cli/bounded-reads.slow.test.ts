import { execFile } from 'node:child_process'
import { readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { built } from '../support/cli/built-cli.js'
import { temporaryDir } from '../support/cli/cli.js'

const linux = test.runIf(process.platform === 'linux')
const TOO_LARGE = 'is larger than 16 MiB'

/** Runs the built command in bash, with the words of the line as typed. */
function inBash(line: string, home: string, limit = '', env: Record<string, string> = {}) {
  const options = { cwd: home, env: built.environment(home, env) }
  return new Promise<{ exit: number | null; stdout: string; stderr: string }>((resolve) => {
    const script = `${limit}\nvc() { "${process.execPath}" "${built.bin}" "$@"; }\n${line}`
    const child = execFile('bash', ['-c', script], options, (_error, stdout, stderr) =>
      resolve({ exit: child.exitCode, stdout, stderr }),
    )
  })
}

linux.each(['<(cat /dev/zero)', '- < /dev/zero', '/dev/zero'])('an endless seed of %s is refused', async (input) => {
  const { exit, stderr } = await inBash(`vc server start --memory --port 0 --json --seed ${input}`, temporaryDir())
  expect([exit, JSON.parse(stderr).error.message]).toEqual([2, expect.stringContaining(TOO_LARGE)])
})

linux('a file or pipe of 16 MiB is read, and one byte more is not', { tags: 'bounded-reads/1' }, async () => {
  const home = temporaryDir()
  writeFileSync(join(home, 'fits'), 'x'.repeat(16 * 1024 * 1024))
  writeFileSync(join(home, 'large'), 'x'.repeat(16 * 1024 * 1024 + 1))
  writeFileSync(join(home, 'secret'), 'x'.repeat(32))
  const call = 'vc webhook sign --update-id 1 --secret-file secret --body-file'
  for (const [input, exit] of [
    ['fits', 0],
    ['<(cat fits)', 0],
    ['- < fits', 0],
    ['/dev/stdin < fits', 0],
    ['large', 2],
    ['<(cat large)', 2],
    ['- < large', 2],
  ] as const)
    expect([input, (await inBash(`${call} ${input} > /dev/null`, home)).exit]).toEqual([input, exit])
})

linux('server start --watch reports a seed that becomes a link to /dev/zero, and keeps running', async () => {
  const home = temporaryDir()
  const seed = join(home, 'seed.yaml')
  writeFileSync(seed, 'account: ci\n')
  const args = ['server', 'start', '--memory', '--port', '0', '--seed', seed, '--watch', '--json']
  const child = built.start(args, home)
  onTestFinished(() => void child.kill('SIGKILL'))
  let said = ''
  const says = (text: string) =>
    new Promise<void>((resolve) => {
      const look = () => said.includes(text) && resolve()
      child.stderr.on('data', look)
      look()
    })
  child.stderr.on('data', (it) => (said += it))
  await new Promise((resolve) => child.stdout.once('data', resolve))
  rmSync(seed)
  symlinkSync('/dev/zero', seed)
  await says(TOO_LARGE)
  rmSync(seed)
  writeFileSync(seed, 'account: other\n')
  await says('planted again')
})

const path = '/api/v1/open-platform/applications'
const call = {
  request_id: 'req_1',
  time: '2026-01-01T00:00:00.000Z',
  endpoint: 'apps.list',
  method: 'GET',
  path,
  status: 200,
}
const part = { headers: [['x', 'y'.repeat(100_000)]], body_bytes: 0 }
const body = Buffer.from('{"success":true,"data":{"items":[]}}').toString('base64')
const entry = {
  request: { ...call, code: null, application_id: null, voucher_id: null, replayed: false, duration_ms: 1 },
  exchange: { request: { ...part, method: 'GET', url: path, body: null }, response: { ...part, status: 200, body } },
}

/** Starts a server whose streams never end, except those without `follow` if `onlyFollow` is true. */
async function endless(onlyFollow: boolean): Promise<string> {
  const server = createServer((request, response) => {
    if (!/activity|requests/.test(request.url ?? ''))
      return response.end('{"success":true,"data":{"now":"2026-01-01T00:00:00.000Z"}}')
    response.writeHead(200, { 'content-type': 'application/x-ndjson' })
    if (onlyFollow && !request.url?.includes('follow=true')) return response.end()
    let seq = 0
    const write = () => {
      while (response.write(`${JSON.stringify({ seq: ++seq, kind: 'request', ...entry })}\n`));
    }
    response.on('drain', write)
    write()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const operator = { VOUCHERCTL_OPERATOR_KEY: `opk_${'0'.repeat(36)}` }

test.each(['server logs', 'scenario record --out a.yaml'])(
  '%s ends if a response has more than 64 MiB',
  { tags: 'bounded-reads/1' },
  async (line) => {
    const url = await endless(false)
    const ran = await inBash(`vc ${line} --json --base-url ${url} > /dev/null`, temporaryDir(), '', operator)
    expect([ran.exit, JSON.parse(ran.stderr).error]).toMatchObject([
      9,
      { code: 'NETWORK_ERROR', message: 'The response is larger than 67108864 bytes.' },
    ])
  },
)

test('scenario record writes the first 32 MiB of an activity and says so', { tags: 'bounded-reads/1' }, async () => {
  const home = temporaryDir()
  const url = await endless(true)
  const ran = await inBash(`vc scenario record --out a.yaml --base-url ${url}`, home, '', operator)
  expect(ran.stderr).toContain('The recording reached 32 MiB and ended here.')
  expect(ran.exit).toBe(0)
  expect(readFileSync(join(home, 'a.yaml'), 'utf8').trimEnd().split('\n').at(-1)).toBe(
    '# The recording reached 32 MiB and ended here.',
  )
})

linux('--jq under a limit of virtual memory names the cause and a setting that works', async () => {
  const line = `vc commands --jq '.items | length'`
  const refused = await inBash(line, temporaryDir(), 'ulimit -v 4000000')
  const { code, hint } = JSON.parse(refused.stderr).error
  expect([refused.exit, code, hint]).toEqual([
    1,
    'JQ_NOT_STARTED',
    expect.stringContaining('--disable-wasm-trap-handler'),
  ])
  const env = { NODE_OPTIONS: '--disable-wasm-trap-handler' }
  expect((await inBash(line, temporaryDir(), 'ulimit -v 4000000', env)).stdout).toMatch(/^\d+\n$/)
  const exhausted = await inBash(`vc commands --jq '[range(1e9)] | length'`, temporaryDir())
  expect(JSON.parse(exhausted.stderr).error.message).toBe('--jq ran out of memory.')
})
