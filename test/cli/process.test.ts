import { type ChildProcess, execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test, vi } from 'vitest'
import { startServer } from '../../src/testing/index.js'
import { built, bundle, firstLine } from '../support/cli/built-cli.js'
import { cli, redeemCode, secrets, stub, success, temporaryDir } from '../support/cli/cli.js'
import { unrunnable } from '../support/cli/runnable.js'
import { redemption } from '../support/cli/samples.js'
import { listen } from '../support/listen.js'

test('--version prints the version of the package', async () => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  expect(await built.run(['--version'], temporaryDir())).toEqual({
    exit: 0,
    signal: null,
    stdout: `${version}\n`,
    stderr: '',
  })
})

/** Names and total bytes of the files that a command loads, and names of the modules of Node. */
async function loadedBy(
  args: readonly string[],
  env = {},
): Promise<{ files: string[]; bytes: number; modules: string[] }> {
  const code = `process.on('exit', () => {
    const paths = Object.keys(require.cache)
    const bytes = paths.reduce((sum, it) => sum + require('node:fs').statSync(it).size, 0)
    const files = paths.map((it) => require('node:path').basename(it))
    process.stderr.write(JSON.stringify({ files, bytes, modules: process.moduleLoadList }))
  })
  require(process.argv[1])`
  const options = { env: built.environment(temporaryDir(), env) }
  const { stderr } = await promisify(execFile)(process.execPath, ['-e', code, built.bin, ...args], options)
  return JSON.parse(stderr)
}

// A longer list or a larger file makes each start slower: load what only some commands need with import().
test.each([
  ['--version', 8_000, ['voucherctl.js', 'package.json']],
  ['--help', 160_000, ['voucherctl.js', 'help.json']],
  ['vouchers --help', 160_000, ['voucherctl.js', 'help.json']],
  [
    `vouchers verify --code ${redeemCode} --json`,
    195_000,
    ['voucherctl.js', 'main.cjs', 'rolldown-runtime.cjs', 'common.cjs', 'vouchers.cjs'],
  ],
])('%s loads no more than %i bytes, in exactly the listed files', async (words, limit, listed) => {
  const { baseUrl } = await stub(() => success({ redeemable: true }))
  const env = { VOUCHERCTL_BASE_URL: baseUrl, VOUCHERCTL_TOKEN: 'sop_x' }
  const { files, bytes, modules } = await loadedBy(words.split(' '), env)
  expect(files).toEqual(listed)
  expect(bytes).toBeLessThan(limit)
  for (const it of ['child_process', 'crypto']) expect(modules).not.toContain(`NativeModule ${it}`)
})

test('the stored help pages are those that the command line prints, one for each name', async () => {
  const stored = JSON.parse(readFileSync(new URL('../../dist/help.json', import.meta.url), 'utf8'))
  const { agentVariables, entries, leavesOfEntries } = bundle
  const leaves = await leavesOfEntries(entries)
  const paths = leaves.flatMap(([names]) => names.map((_, at) => [...names.slice(0, at + 1), '--help']))
  const printed: Record<string, string> = {}
  for (const words of [['--help'], ...paths]) printed[words.join('\0')] = (await cli(words)).stdout
  const firstForAgents = (await cli('--help', { env: { AI_AGENT: 'yes' } })).stdout
  expect(stored).toEqual({ ...printed, firstForAgents, agentVariables })
})

test.each(['AI_AGENT', 'CLAUDECODE', 'CURSOR_AGENT'])(
  'the first help page ends with lines for agents if %s is set',
  { tags: 'help-topics/3' },
  async (name) => {
    const first = await built.run(['--help'], temporaryDir())
    const { stdout } = await built.run(['--help'], temporaryDir(), { [name]: '1' })
    expect(stdout).toBe((await cli('--help', { env: { [name]: '1' } })).stdout)
    const last = stdout.trimEnd().split('\n').slice(-3)
    expect(stdout.startsWith(first.stdout)).toBe(true)
    for (const [index, word] of ['help agents', '--json', 'mcp'].entries()) expect(last[index]).toContain(word)
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
    // Without words, the command line itself prints the page.
    expect((await built.run([], temporaryDir(), { [name]: '1' })).stdout).toBe(stdout)
    const page = ['vouchers', '--help']
    expect((await built.run(page, temporaryDir(), { [name]: '1' })).stdout).toBe(
      (await built.run(page, temporaryDir())).stdout,
    )
    expect((await built.run(['--help'], temporaryDir(), { [name]: '' })).stdout).toBe(first.stdout)
  },
)

test('the process prints the stored help of a command, but JSON if the environment asks for it', async () => {
  const args = ['vouchers', 'issue', '--help']
  const page = (await cli(args)).stdout
  expect(page).toContain('Usage: voucherctl vouchers issue')
  expect(await built.run(args, temporaryDir())).toMatchObject({ exit: 0, stdout: page, stderr: '' })
  const { exit, stdout } = await built.run(args, temporaryDir(), { VOUCHERCTL_OUTPUT: 'json' })
  expect([exit, JSON.parse(stdout)[0].command]).toEqual([0, 'voucherctl vouchers issue'])
  expect((await built.run(['vouchers issue', '--help'], temporaryDir())).exit).toBe(2)
})

test('vouchers redeem --reference exits 2 if a flag follows, and accepts any value after =', async () => {
  const { baseUrl, received } = await stub(() => success(redemption))
  const home = temporaryDir()
  const words = ['-h', '--help', '--version', '--json', '--dry-run', '--']
  const redeem = async (...more: string[]) => {
    const args = ['vouchers', 'redeem', '--code', redeemCode, ...more, '--base-url', baseUrl]
    // Only the separate process has shortcuts for --help and --version, which must not apply here.
    return more.join().endsWith('--help') || more.join().endsWith('--version')
      ? await built.run(args, home, secrets)
      : await cli(args, { home, env: secrets })
  }
  for (const word of words) {
    const { exit, stdout, stderr } = await redeem('--reference', word)
    expect([word, exit, stdout]).toEqual([word, 2, ''])
    expect(stderr).toContain("Option '--reference' needs a value.")
    expect((await redeem(`--reference=${word}`)).exit).toBe(0)
  }
  for (const word of ['-', '-5']) expect((await redeem('--reference', word)).exit).toBe(0)
  const references = received.map(({ body }) => (body as { reference: string }).reference)
  expect(references).toEqual([...words, '-', '-5'])
})

test('server start --json prints one line when it is ready and exits 0 on SIGTERM', async () => {
  const home = temporaryDir()
  const server = built.start(['server', 'start', '--memory', '--port', '0', '--json'], home)
  let rest = ''
  const ready = JSON.parse(await firstLine(server))
  server.stdout?.on('data', (chunk) => (rest += chunk))
  expect(Object.keys(ready)).toEqual(['base_url', 'pid', 'data_dir', 'operator_key_file', 'store'])
  expect((await fetch(`${ready.base_url}/healthz`)).status).toBe(200)
  server.kill('SIGTERM')
  const [exit] = await once(server, 'close')
  expect([exit, rest, existsSync(ready.data_dir)]).toEqual([0, '', false])
})

test('server start exits 130 on SIGINT', async () => {
  const server = built.start(['server', 'start', '--memory', '--port', '0', '--json'], temporaryDir())
  await firstLine(server)
  server.kill('SIGINT')
  expect((await once(server, 'close'))[0]).toBe(130)
})

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)(
  'a command interrupted by %s during an API call exits %i and prints its idempotency key',
  async (signal, exit) => {
    let child: ChildProcess | undefined
    const port = await listen(createServer(() => child?.kill(signal)))
    const args = ['vouchers', 'redeem', '--code', redeemCode, '--json', '--base-url', `http://127.0.0.1:${port}`]
    child = built.start(args, temporaryDir(), secrets)
    let stderr = ''
    child.stderr?.on('data', (chunk) => (stderr += chunk))
    expect((await once(child, 'close'))[0]).toBe(exit)
    expect(JSON.parse(stderr).error).toMatchObject({
      code: 'ABORTED',
      details: { idempotency_key: expect.any(String) },
    })
  },
)

test('the OpenAPI document describes the /healthz and /readyz responses of a real server', async () => {
  const { paths } = JSON.parse((await cli('server openapi --json')).stdout)
  const server = await startServer()
  for (const path of ['/healthz', '/readyz']) {
    const { properties } = paths[path].get.responses['200'].content['application/json'].schema
    const { data } = (await (await fetch(server.baseUrl + path)).json()) as { data: Record<string, unknown> }
    expect(properties.data.required.sort()).toEqual(Object.keys(data).sort())
    expect(properties.data.properties.status.const).toBe(data.status)
  }
  await server.close()
})

test('server openapi prints an OpenAPI 3.1 document with and without --json', async () => {
  const { stdout, exit } = await cli('server openapi --json')
  expect([exit, JSON.parse(stdout).openapi]).toEqual([0, '3.1.0'])
  expect(JSON.parse((await cli('server openapi')).stdout)).toEqual(JSON.parse(stdout))
})

test('quickstart --json prints all 24 steps as one JSON document and removes its files', async () => {
  const home = temporaryDir()
  const temporary = mkdtempSync(join(home, 'tmp-'))
  vi.stubEnv('TMPDIR', temporary)
  onTestFinished(() => void vi.unstubAllEnvs())
  const ran = await cli('quickstart --json', { home })
  expect([ran.exit, ran.stderr]).toEqual([0, ''])
  const { steps } = JSON.parse(ran.stdout)
  const exits = steps.map((it: { exit: number }) => it.exit)
  expect(exits).toEqual([...Array(12).fill(0), 6, ...Array(11).fill(0)])
  expect(steps[9].result).toMatch(/^redeemable; on the wire: POST \/api\/v1\/secure\/dispatch, \d+ bytes and \d+ back/)
  expect(steps[12].result).toContain('VOUCHER_ALREADY_REDEEMED')
  expect(steps[11].result).toContain('replayed')
  for (const [at, type] of [
    [21, 'my_chat_member'],
    [23, 'voucher_issued'],
  ] as const)
    expect(steps[at].result).toMatch(new RegExp(`^update \\d, ${type}: signature valid`))
  expect(await unrunnable(steps.map((it: { command: string }) => `\`${it.command}\``).join('\n'))).toEqual([])
  expect(ran.stdout).not.toMatch(/undefined|sop_\w{9}|sbot_\w{9}|eyJ\w|opk_\w/)
  expect(readdirSync(temporary)).toEqual([])
  expect(readdirSync(home)).toHaveLength(1)
})

test('quickstart on a terminal waits for a key after each step, and Ctrl-C ends it with exit 130', async () => {
  const home = temporaryDir()
  const temporary = mkdtempSync(join(home, 'tmp-'))
  vi.stubEnv('TMPDIR', temporary)
  onTestFinished(() => void vi.unstubAllEnvs())
  const ran = await cli('quickstart', { home, terminal: true, columns: 80, replies: [true, true, undefined] })
  expect([ran.exit, ran.asked]).toEqual([130, Array(3).fill('Press a key for the next step, Ctrl-C to end.')])
  expect(ran.stdout).toContain('An application')
  expect(ran.stdout).not.toContain('A token for the application')
  expect(readdirSync(temporary)).toEqual([])
})

test('a command that cannot write its result exits 1 with a message and no stack trace', async () => {
  const ran = await built.inShell('exec "$0" "$1" profile list > /dev/full', temporaryDir())
  expect(ran.exit).toBe(1)
  expect(ran.stderr).toBe('error: The result cannot be written to standard output (ENOSPC). (FILE_UNWRITABLE)\n')
})
