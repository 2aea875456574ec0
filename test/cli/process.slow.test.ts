import { type ChildProcess, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { findLocalServer, isSameProcess } from '../../src/cli/config/local-server.js'
import { built, firstLine } from '../support/cli/built-cli.js'
import { cli, secrets, stub, success, temporaryDir } from '../support/cli/cli.js'
import { wordsOf } from '../support/cli/runnable.js'
import { pageOf, template } from '../support/cli/samples.js'

test('server start and quickstart exit 129 on SIGHUP and remove their temporary folders', async () => {
  const home = temporaryDir()
  const temporary = mkdtempSync(join(home, 'tmp-'))
  const start = (args: string, env = {}) => {
    const child = built.start(args.split(' '), home, { TMPDIR: temporary, ...env })
    return { child, exit: once(child, 'exit').then(([exit]) => exit) }
  }
  const server = start('server start --memory --port 0 --json')
  await firstLine(server.child)
  server.child.kill('SIGHUP')
  expect([await server.exit, readdirSync(temporary)]).toEqual([129, []])

  // quickstart may end before this process has read its first line, so it sends itself the signal when it prints.
  const hook = join(home, 'hang-up.cjs')
  writeFileSync(
    hook,
    `const { write } = process.stdout
    process.stdout.write = (...args) => {
      process.stdout.write = write
      process.kill(process.pid, 'SIGHUP')
      return process.stdout.write(...args)
    }`,
  )
  const quickstart = start('quickstart', { NODE_OPTIONS: `--require=${hook}` })
  quickstart.child.stdout.resume()
  expect([await quickstart.exit, readdirSync(temporary)]).toEqual([129, []])
})

/** Options for a command that runs in this process and starts the built server as another process. */
const atHome = (home: string) =>
  ({ home, now: Date.now(), env: { PATH: process.env.PATH ?? '' }, self: [process.execPath, built.bin] }) as const

test('server start --detach prints absolute paths and records the id of the server process', async () => {
  const home = temporaryDir()
  const run = (...args: string[]) => cli([...args, '--data', 'here', '--json'], atHome(home))
  const { stdout } = await run('server', 'start', '--detach', '--port', '0')
  const started = JSON.parse(stdout)
  try {
    expect(stdout.split('\n')).toHaveLength(2)
    const dir = join(home, 'here')
    expect(started).toMatchObject({ data_dir: dir, log_file: join(dir, 'server.log') })
    const server = findLocalServer(dir) ?? expect.unreachable()
    expect(isSameProcess(server)).toBe(existsSync('/proc/self/stat') ? true : undefined)
    expect(Object.keys(JSON.parse((await run('server', 'status')).stdout))).toEqual([
      'running',
      'ready',
      'pid',
      'data_dir',
      'base_url',
      'operator_key_file',
      'store',
      'started_at',
    ])
  } finally {
    await run('server', 'stop')
  }
})

test('hint of TEST_CLOCK_OFF, when run, restarts the server of another folder with a test clock', async () => {
  const home = temporaryDir()
  const dir = join(home, 'my shop')
  // The server lists itself in the home folder.
  const env = { ...atHome(home).env, HOME: home }
  const run = (...args: string[]) => cli(args, { ...atHome(home), env })
  const { stdout } = await run('server', 'start', '--detach', '--data', dir, '--port', '0', '--json')
  try {
    const advance = ['platform', 'clock', 'advance', '--in', '1d', '--base-url', JSON.parse(stdout).base_url]
    const refused = await run(...advance)
    expect([refused.exit, refused.stderr]).toEqual([6, expect.stringContaining('(TEST_CLOCK_OFF)')])
    const commands = [...refused.stderr.matchAll(/`voucherctl ([^`]+)`/g)].map(([, command = '']) => command)
    expect(commands).toHaveLength(2)
    for (const command of commands) expect((await run(...wordsOf(command))).exit).toBe(0)
    expect((await run(...advance)).exit).toBe(0)
  } finally {
    await run('server', 'stop', '--data', dir)
  }
})

test('server start exits 130 on SIGINT', async () => {
  const server = built.start(
    ['server', 'start', '--memory', '--port', '0', '--json', '--log-level', 'silent'],
    temporaryDir(),
  )
  await firstLine(server)
  server.kill('SIGINT')
  expect((await once(server, 'exit'))[0]).toBe(130)
})

test('server status, logs and stop find a detached server by its data folder', async () => {
  const home = temporaryDir()
  const run = async (...args: string[]) => {
    const ran = await cli([...args, '--json'], atHome(home))
    return {
      ...ran,
      data: ran.stdout === '' ? undefined : JSON.parse(ran.stdout),
      error: ran.stderr === '' ? undefined : JSON.parse(ran.stderr).error,
    }
  }
  expect(await run('server', 'status')).toMatchObject({ exit: 1, data: { running: false } })
  expect(await run('server', 'stop')).toMatchObject({ exit: 0, data: { stopped: false } })
  expect(await run('server', 'logs', '--follow')).toMatchObject({
    exit: 9,
    error: { code: 'LOCAL_SERVER_NOT_RUNNING' },
  })

  const started = await run(
    'server',
    'start',
    '--detach',
    '--port',
    '0',
    '--auto-approve',
    '--rate-limit',
    'issue=5/60',
  )
  expect(started).toMatchObject({
    exit: 0,
    stderr: '',
    data: { store: 'sqlite', log_file: expect.stringContaining('server.log') },
  })
  try {
    expect(statSync(started.data.log_file).mode & 0o777).toBe(0o600)
    expect(await run('server', 'status')).toMatchObject({
      exit: 0,
      data: { running: true, ready: true, pid: started.data.pid },
    })
    expect(await run('server', 'start', '--detach')).toMatchObject({ exit: 1, error: { code: 'DATA_FOLDER_IN_USE' } })
    expect(await run('server', 'start', '--port', '0')).toMatchObject({
      exit: 1,
      stdout: '',
      error: { code: 'DATA_FOLDER_IN_USE' },
    })
    const port = new URL(started.data.base_url).port
    const other = temporaryDir()
    const inUse = await run('server', 'start', '--port', port, '--data', other)
    expect(inUse).toMatchObject({ exit: 1, error: { code: 'EADDRINUSE' } })
    expect(await run('server', 'start', '--detach', '--port', port, '--data', other)).toMatchObject({
      exit: 1,
      error: { code: 'EADDRINUSE' },
    })

    const { stdout } = await cli('server logs --json --endpoint health.live', atHome(home))
    const entries = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(entries).toContainEqual(expect.objectContaining({ method: 'GET', status: 200 }))
  } finally {
    expect(await run('server', 'stop')).toMatchObject({
      exit: 0,
      stderr: '',
      data: { stopped: true, pid: started.data.pid },
    })
  }
  expect((await run('server', 'status')).exit).toBe(1)
  const after = await cli('server logs --json', atHome(home))
  expect(
    after.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toContainEqual(expect.objectContaining({ msg: 'stopped' }))
})

test('with stdout closed, quickstart removes its files and a failing command keeps its exit code', async () => {
  const home = temporaryDir()
  const temporary = mkdtempSync(join(home, 'tmp-'))
  const quickstart = built.start(['quickstart'], home, { TMPDIR: temporary })
  await firstLine(quickstart)
  quickstart.stdout?.destroy()
  expect((await once(quickstart, 'exit'))[0]).toBe(0)
  expect(readdirSync(temporary)).toEqual([])

  const failing = built.start(['apps', 'get', 'nope'], home)
  failing.stdout?.destroy()
  failing.stderr?.destroy()
  expect((await once(failing, 'exit'))[0]).toBe(3)
})

test('quickstart --keep leaves a server and a profile, and refuses to replace them', async () => {
  const home = temporaryDir()
  const run = (line: string) => cli(line, atHome(home))
  const kept = await run('quickstart --keep --json')
  try {
    expect(kept.exit).toBe(0)
    expect(kept.stdout).not.toMatch(/sop_\w{9}|sbot_\w{9}|eyJ\w|opk_\w/)
    const { base_url: baseUrl } = JSON.parse(kept.stdout)
    const { items } = JSON.parse((await run('apps list -p quickstart --json')).stdout)
    expect(items.map((it: { name: string }) => it.name)).toEqual(['Corner shop'])
    expect((await run('bots updates -p quickstart --json')).exit).toBe(0)
    const again = await run('quickstart --keep')
    expect([again.exit, again.stderr]).toEqual([6, expect.stringContaining('voucherctl server stop -p quickstart')])
    const stopped = JSON.parse((await run('server stop -p quickstart --json')).stdout)
    expect(stopped).toMatchObject({ stopped: true, base_url: baseUrl })
  } finally {
    await run('server stop -p quickstart')
  }
})

test('quickstart --keep exits 130 and removes its folder if Ctrl-C ends the start of its server', async () => {
  const home = temporaryDir()
  const interruption = new AbortController()
  const has = (name: string) => readdirSync(home, { recursive: true }).some((it) => String(it).endsWith(name))
  const running = cli('quickstart --keep', { ...atHome(home), signal: interruption.signal })
  await vi.waitUntil(() => has('server.log'), { timeout: 120_000, interval: 1 })
  interruption.abort()
  const ran = await running
  expect([ran.exit, ran.stderr, has('voucherctl-quickstart')]).toEqual([130, 'error: Interrupted. (ABORTED)\n', false])
})

test('quickstart prints the command of each step, and marks the refusal as expected', async () => {
  const { exit, stdout, stderr } = await cli('quickstart')
  expect([exit, stderr]).toEqual([0, ''])
  expect(stdout.match(/^ {6}\$ voucherctl /gm)).toHaveLength(24)
  expect(stdout).toContain('$ voucherctl server start --detach')
  expect(stdout).toContain('refused, as expected: 409 VOUCHER_ALREADY_REDEEMED')
  expect(stdout).not.toContain('✗')
})

test('quickstart wraps long commands to the width of the terminal', async () => {
  const { exit, stdout } = await cli('quickstart --no-pause', { terminal: true, columns: 60, env: { NO_COLOR: '1' } })
  expect(exit).toBe(0)
  const lines = stdout.split('\n').filter((line) => / --.* --| --.*\\$/.test(line))
  expect(lines.length).toBeGreaterThan(5)
  expect(lines.filter((line) => line.length > 60)).toEqual([])
})

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

test('--help works in a deleted working folder', async () => {
  const ran = await built.inShell('mkdir gone && cd gone && rmdir ../gone && exec "$0" "$1" --help', temporaryDir())
  expect(ran.exit).toBe(0)
  expect(ran.stdout).toContain('voucherctl')
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
