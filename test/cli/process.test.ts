import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { open, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test, vi } from 'vitest'
import { startServer } from '../../src/testing/index.js'
import { built, firstLine } from '../support/cli/built-cli.js'
import { cli, redeemCode, secrets, stub, success, temporaryDir } from '../support/cli/cli.js'
import { pageOf, redemption, template } from '../support/cli/samples.js'
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

/** Names of the files and of the modules of Node that a command loads. */
async function loadedBy(args: readonly string[], env = {}): Promise<[files: string[], modules: string[]]> {
  const code = `process.on('exit', () => process.stderr.write(JSON.stringify(
    [Object.keys(require.cache).map((it) => require('node:path').basename(it)), process.moduleLoadList])))
    require(process.argv[1])`
  const options = { env: built.environment(temporaryDir(), env) }
  const { stderr } = await promisify(execFile)(process.execPath, ['-e', code, built.bin, ...args], options)
  return JSON.parse(stderr)
}

test.each([[['--help']], [['vouchers', '--help']]])('%j loads neither run.cjs nor node:child_process', async (args) => {
  const [files, modules] = await loadedBy(args)
  expect(files).toEqual(expect.arrayContaining(['main.cjs', 'help.cjs']))
  expect(files).not.toContain('run.cjs')
  expect(modules).not.toContain('NativeModule child_process')
})

test('vouchers verify loads exactly six files', async () => {
  const { baseUrl } = await stub(() => success({ redeemable: true }))
  const args = ['vouchers', 'verify', '--code', redeemCode, '--json']
  const [files] = await loadedBy(args, { VOUCHERCTL_BASE_URL: baseUrl, VOUCHERCTL_TOKEN: 'sop_x' })
  expect(files).toEqual(['voucherctl.js', 'main.cjs', 'rolldown-runtime.cjs', 'common.cjs', 'vouchers.cjs', 'run.cjs'])
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

test('server start --json prints one line when it is ready and exits 143 on SIGTERM', async () => {
  const home = temporaryDir()
  const server = built.start(['server', 'start', '--memory', '--port', '0', '--json'], home)
  let rest = ''
  const ready = JSON.parse(await firstLine(server))
  server.stdout?.on('data', (chunk) => (rest += chunk))
  expect(Object.keys(ready)).toEqual(['base_url', 'pid', 'data_dir', 'operator_key_file', 'store'])
  expect((await fetch(`${ready.base_url}/healthz`)).status).toBe(200)
  server.kill('SIGTERM')
  const [exit] = await once(server, 'close')
  expect([exit, rest, existsSync(ready.data_dir)]).toEqual([143, '', false])
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

test('templates list exits 0 without an error if the reader closes the pipe early', async () => {
  const many = pageOf(
    ...Array.from({ length: 100 }, (_, i) => ({ ...template, id: `tpl_${i}`, description: 'd'.repeat(5_000) })),
  )
  const { baseUrl } = await stub(() => success(many))
  const child = built.start(['templates', 'list', '--json', '--base-url', baseUrl], temporaryDir(), secrets)
  let stderr = ''
  child.stderr?.on('data', (chunk) => (stderr += chunk))
  child.stdout?.once('data', () => child.stdout?.destroy())
  expect((await once(child, 'close'))[0]).toBe(0)
  expect(stderr).toBe('')
})

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
  for (const { command } of steps) expect(command).toMatch(/^voucherctl /)
  expect(ran.stdout).not.toMatch(/sop_\w{9}|sbot_\w{9}|eyJ\w|opk_\w/)
  expect(readdirSync(temporary)).toEqual([])
  expect(readdirSync(home)).toHaveLength(1)
})

test('quickstart prints the command of each step and suggests the next command', async () => {
  const { exit, stdout, stderr } = await cli('quickstart')
  expect([exit, stderr]).toEqual([0, ''])
  expect(stdout.match(/^ {6}\$ voucherctl /gm)).toHaveLength(24)
  expect(stdout).toContain('$ voucherctl server start --detach')
})

test('quickstart wraps long commands to the width of the terminal', async () => {
  const { exit, stdout } = await cli('quickstart --no-pause', { terminal: true, columns: 60, env: { NO_COLOR: '1' } })
  expect(exit).toBe(0)
  const lines = stdout.split('\n').filter((line) => / --.* --| --.*\\$/.test(line))
  expect(lines.length).toBeGreaterThan(5)
  expect(lines.filter((line) => line.length > 60)).toEqual([])
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

test('quickstart marks the refusal that it demonstrates as expected', async () => {
  const { stdout } = await cli('quickstart')
  expect(stdout).toContain('refused, as expected: 409 VOUCHER_ALREADY_REDEEMED')
  expect(stdout).not.toContain('✗')
})

function shell(script: string) {
  const home = temporaryDir()
  return spawn('sh', ['-c', script, process.execPath, built.bin], { cwd: home, env: built.environment(home) })
}

test('a command that cannot write its result exits 1 with a message and no stack trace', async () => {
  const child = shell('exec "$0" "$1" profile list > /dev/full')
  let stderr = ''
  child.stderr.on('data', (chunk) => (stderr += chunk))
  expect((await once(child, 'close'))[0]).toBe(1)
  expect(stderr).toBe('error: The result cannot be written to standard output (ENOSPC). (FILE_UNWRITABLE)\n')
})

test('--help works in a deleted working folder', async () => {
  const child = shell('mkdir gone && cd gone && rmdir ../gone && exec "$0" "$1" --help')
  let stdout = ''
  child.stdout.on('data', (chunk) => (stdout += chunk))
  expect((await once(child, 'close'))[0]).toBe(0)
  expect(stdout).toContain('voucherctl')
})

async function interrupt(child: ChildProcess) {
  let stderr = ''
  child.stderr?.on('data', (chunk) => (stderr += chunk))
  child.kill('SIGTERM')
  expect((await once(child, 'close'))[0]).toBe(143)
  expect(stderr).toContain('Interrupted')
}

test('one SIGTERM ends a command that reads stdin', async () => {
  const child = built.start(['vouchers', 'redeem', '--code', '-', '--base-url', 'http://127.0.0.1:9'], temporaryDir())
  child.stdin?.on('error', () => {})
  // 4 MB exceed the pipe buffer, so a completed write proves that the command is reading.
  await new Promise((resolve) => child.stdin?.write(Buffer.alloc(4_000_000), resolve))
  await interrupt(child)
})

test('one SIGTERM ends a command that reads a FIFO', async () => {
  const home = temporaryDir()
  execFileSync('mkfifo', [join(home, 'fifo')])
  const child = built.start(['apps', 'list', '--token-file', 'fifo', '--base-url', 'http://127.0.0.1:9'], home)
  // Opening a FIFO for writing waits until the command has opened it for reading.
  const writer = await open(join(home, 'fifo'), 'w')
  await interrupt(child)
  await writer.close()
})

test('--token-file reads a token from a FIFO', async () => {
  const home = temporaryDir()
  execFileSync('mkfifo', [join(home, 'fifo')])
  const { baseUrl, received } = await stub(() => success(pageOf(template)))
  const ran = built.run(['templates', 'list', '--json', '--token-file', 'fifo', '--base-url', baseUrl], home)
  await writeFile(join(home, 'fifo'), `${secrets.VOUCHERCTL_TOKEN}\n`)
  expect((await ran).exit).toBe(0)
  expect(received[0]?.headers.authorization).toContain(secrets.VOUCHERCTL_TOKEN)
})
