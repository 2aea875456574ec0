import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { findLocalServer, isSameProcess } from '../../src/cli/config/local-server.js'
import type { Host } from '../../src/cli/host/host.js'
import { withProgress } from '../../src/cli/output/progress.js'
import { built, firstLine } from '../support/cli/built-cli.js'
import { cli, temporaryDir } from '../support/cli/cli.js'

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

test('withProgress() shows a spinner on a terminal while its promise is pending', async () => {
  let text = ''
  const stderr = {
    write: (it: string) => (text += it),
    isTTY: true,
    columns: 80,
    cursorTo() {},
    moveCursor() {},
    clearLine() {},
    once() {},
    on() {},
    off() {},
    removeListener() {},
  }
  const shown = vi.waitUntil(() => text.includes('Working …'), 30_000)
  expect(await withProgress({ stderr, env: {} } as unknown as Host, 'Working …', shown)).toBe(true)
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
