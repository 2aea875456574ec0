import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { built, firstLine } from '../../support/cli/built-cli.js'
import { cli, temporaryDir } from '../../support/cli/cli.js'
import { closedPort } from '../../support/closed-port.js'

/** Runs a command in this process. The servers that it starts have their own. */
const run = (home: string, line: string, env?: Record<string, string>) =>
  cli(line, { home, env: { ...env, HOME: home }, now: Date.now(), self: [process.execPath, built.bin] })

async function json(home: string, line: string) {
  const { exit, stdout, stderr } = await run(home, `${line} --json`)
  expect([line, exit, stderr.includes('error')]).toEqual([line, 0, false])
  return JSON.parse(stdout)
}

interface Ready {
  readonly base_url: string
  readonly pid: number
  readonly data_dir: string
}

async function start(home: string, line: string): Promise<Ready> {
  const ready = (await json(home, `server start --detach --log-level silent ${line}`)) as Ready
  onTestFinished(async () => {
    await run(home, `server stop --data ${ready.data_dir}`)
  })
  return ready
}

const portOf = (url: string) => Number(new URL(url).port)
const folderOf = (home: string) => join(home, '.local', 'share', 'voucherctl')
const fileOf = (home: string) => join(folderOf(home), 'server.json')

/** Listens as another program of this machine, and records the requests that it receives. */
async function stranger(port: number, respond: (request: IncomingMessage) => unknown = () => ({})) {
  const received: { path: string | undefined; authorization: string | undefined }[] = []
  const server = createServer((request, response) => {
    received.push({ path: request.url, authorization: request.headers.authorization })
    response.end(JSON.stringify({ success: true, data: respond(request) }))
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { received, port: (server.address() as AddressInfo).port }
}

/** A home whose profile has an account JWT, a token and a bot token of the local server. */
async function homeWithCredentials() {
  const home = temporaryDir()
  const server = await start(home, '--port 0 --auto-approve')
  await json(home, 'login --local --account demo')
  const app = (await json(home, 'apps create --name Shop')).id
  await json(home, `tokens create --app ${app} --scope vouchers:read --save`)
  const bot = (await json(home, 'bots apply --name Bot --username shop_bot')).id
  await json(home, `bots get ${bot} --save`)
  return { home, server }
}

async function changePort(home: string): Promise<Ready> {
  await run(home, 'server stop')
  return start(home, `--port ${await closedPort()}`)
}

const calls = ['apps list', 'templates list', 'webhook info', 'whoami', 'api GET /open-platform/applications']

test('a profile keeps its credentials if its server moves to another port', { tags: 'local-server/4' }, async () => {
  const { home, server } = await homeWithCredentials()
  const moved = await changePort(home)
  expect(moved.base_url).not.toBe(server.base_url)
  for (const line of [...calls, 'server status', 'platform reviews', `whoami --base-url ${moved.base_url}`])
    await json(home, line)
  expect((await json(home, 'whoami')).credentials.map((it: { accepted: boolean }) => it.accepted)).toEqual(
    Array(4).fill(true),
  )
  const { stdout } = await run(home, 'server env')
  expect(stdout).toContain(`VOUCHERCTL_BASE_URL=${moved.base_url}`)
  expect(stdout).toMatch(
    /VOUCHERCTL_TOKEN=.*\n(.*\n)*.*VOUCHERCTL_BOT_TOKEN=|VOUCHERCTL_BOT_TOKEN=.*\n(.*\n)*.*_TOKEN=/,
  )
  expect((await json(home, 'server stop')).pid).toBe(moved.pid)
})

test.each(['stop', 'kill'])('no other server gets credentials after a %s', { tags: 'local-server/5' }, async (end) => {
  const { home, server } = await homeWithCredentials()
  let shown = JSON.parse(readFileSync(fileOf(home), 'utf8'))
  await run(home, 'server stop')
  if (end === 'kill') {
    const child = built.start(['server', 'start', '--port', `${portOf(server.base_url)}`, '--json'], home)
    const ended = new Promise((resolve) => child.once('exit', resolve))
    await firstLine(child)
    child.kill('SIGKILL')
    await ended
    shown = JSON.parse(readFileSync(fileOf(home), 'utf8'))
  }
  // The stranger has seen what /healthz shows to everybody.
  const other = await stranger(portOf(server.base_url), () => ({ status: 'ok', instanceId: shown.instance_id }))
  for (const line of [
    ...calls,
    'platform reviews',
    'open --no-browser',
    'server env',
    'login --local --account demo',
  ]) {
    for (const more of ['', ` --base-url ${server.base_url}`]) {
      if (line === 'login --local --account demo' && more !== '') continue
      const { exit, stdout } = await run(home, `${line}${more} --no-input --retries 0`)
      expect([line, more, exit !== 0, stdout]).toEqual([line, more, true, ''])
    }
  }
  await run(home, '__complete bash voucherctl apps get ')
  const fromEnvironment = await run(home, 'templates list', { VOUCHERCTL_TOKEN: 'sop_CANARY' })
  expect([fromEnvironment.exit, fromEnvironment.stderr]).toEqual([9, expect.stringContaining('server start --detach')])
  expect(other.received.filter((it) => it.authorization !== undefined)).toEqual([])

  // A start without a port works beside the stranger, and the credentials with it.
  await start(home, '--port 0')
  for (const line of calls) await json(home, line)
  expect(other.received.filter((it) => it.authorization !== undefined)).toEqual([])
})

test('a server without a known process start must prove its key', { tags: 'local-server/5' }, async () => {
  const { home } = await homeWithCredentials()
  const content = JSON.parse(readFileSync(fileOf(home), 'utf8'))
  const { process_start: _start, ...unknown } = content
  const registry = join(home, '.local', 'state', 'voucherctl', 'servers', `${content.instance_id}.json`)
  const write = (server: object) => {
    for (const path of [fileOf(home), registry]) writeFileSync(path, JSON.stringify(server))
  }
  write(unknown)
  for (const line of [...calls, 'platform reviews']) await json(home, line)
  const other = await stranger(0, () => ({ status: 'ok', instanceId: content.instance_id, proof: content.instance_id }))
  write({ ...unknown, base_url: `http://127.0.0.1:${other.port}` })
  for (const line of [...calls, 'platform reviews', 'login --local --account demo', 'server stop'])
    expect([line, (await run(home, `${line} --no-input`)).exit]).not.toEqual([line, 0])
  expect(other.received.map((it) => it.authorization).filter((it) => it !== undefined)).toEqual([])
  expect(new Set(other.received.map((it) => it.path))).toEqual(new Set(['/healthz']))
  write(content)
})

test('no command prints the key with which a server proves itself', async () => {
  const { home } = await homeWithCredentials()
  const { proof_key: key } = JSON.parse(readFileSync(fileOf(home), 'utf8'))
  for (const line of ['server status', 'server list', 'doctor', 'server status --json', 'server list --json'])
    expect((await run(home, line)).stdout).not.toContain(key)
})

test('a container on a loopback address keeps its credentials beside a local server', async () => {
  const home = temporaryDir()
  await start(home, '--port 0')
  const other = await stranger(0, () => ({ items: [] }))
  writeFileSync(join(home, 'token'), 'sop_CANARY', { mode: 0o600 })
  const url = `http://127.0.0.1:${other.port}`
  await json(home, `login --with-token token -p container --base-url ${url}`)
  await json(home, 'templates list -p container')
  expect(other.received.map((it) => it.authorization)).toEqual(['Bearer sop_CANARY', 'Bearer sop_CANARY'])
})

test('server commands refuse a profile with another address than the server', { tags: 'local-server/1' }, async () => {
  const home = temporaryDir()
  const { base_url: url, data_dir: dir, pid } = await start(home, '--port 0')
  const named = `http://127.0.0.1:${await closedPort()}`
  await json(home, `profiles set second --base-url ${named}`)
  for (const command of ['server stop', 'server status', 'server logs']) {
    const { exit, stderr } = await run(home, `${command} -p second`)
    expect([command, exit]).toEqual([command, 9])
    expect(stderr).toContain(
      `No local server runs on ${named}, which profile second names; the server of ${dir} runs on`,
    )
    expect(stderr).toContain(`voucherctl ${command} --profile second --data ${dir}`)
  }
  expect(await json(home, 'server env -p second')).toEqual({ VOUCHERCTL_BASE_URL: named })
  expect((await run(home, 'open -p second --no-browser')).exit).toBe(9)
  // A login binds a profile to a folder; another base URL releases it.
  await json(home, 'login --local --account demo -p third')
  await json(home, `profiles set third --base-url ${named}`)
  expect((await run(home, 'server stop -p third')).exit).toBe(9)
  expect(await json(home, 'server status')).toMatchObject({ running: true, pid, base_url: url })
  expect((await json(home, `server stop -p second --data ${dir}`)).pid).toBe(pid)
})

test('server start without a port takes a free one and names who has 8420', { tags: 'local-server/3' }, async () => {
  // Another program may have the port already; then the message names that one.
  const ours = await stranger(8420).catch(() => undefined)
  const home = temporaryDir()
  onTestFinished(async () => {
    await run(home, 'server stop')
  })
  // In another process: the server does not name its own process as the one that has the port.
  const started = await built.run(['server', 'start', '--detach'], home)
  expect([started.exit, started.stderr]).toEqual([0, ''])
  const { base_url: url } = await json(home, 'server status')
  expect(portOf(url)).toBeGreaterThan(8420)
  expect(portOf(url)).toBeLessThan(8440)
  expect(started.stdout).toContain(`The server runs on ${url}`)
  expect(started.stdout).toMatch(/Port 8420 is in use/)
  if (ours !== undefined && process.platform === 'linux')
    expect(started.stdout).toContain(`(process ${process.pid}); commands find the server`)
  await json(home, 'login --local --account demo')
  await json(home, 'apps list')

  const again = await run(home, 'server start --detach --json')
  expect([again.exit, JSON.parse(again.stderr).error.code]).toEqual([1, 'DATA_FOLDER_IN_USE'])
  const named = await run(home, `server start --data ${join(home, 'other')} --port ${portOf(url)} --json`)
  expect([named.exit, JSON.parse(named.stderr.split('\n').filter(Boolean).at(-1) ?? '').error.code]).toEqual([
    1,
    'EADDRINUSE',
  ])
})

test('parallel starts get own ports, and only one of them each data folder', { tags: 'local-server/3' }, async () => {
  const home = temporaryDir()
  const dirs = ['a', 'b', 'c'].map((it) => join(home, it))
  onTestFinished(async () => {
    for (const dir of dirs) await run(home, `server stop --data ${dir}`)
  })
  const lines = [...dirs, ...dirs].map((dir) => `server start --detach --log-level silent --json --data ${dir}`)
  const ran = await Promise.all(lines.map((line) => run(home, line)))
  const ready = ran.filter(({ exit }) => exit === 0).map(({ stdout }) => JSON.parse(stdout) as Ready)
  expect(ready.map((it) => it.data_dir).sort()).toEqual(dirs)
  expect(new Set(ready.map((it) => it.base_url)).size).toBe(3)
  const refused = ran.filter(({ exit }) => exit !== 0).map(({ stderr }) => JSON.parse(stderr).error.code)
  expect(refused).toEqual(Array(3).fill('DATA_FOLDER_IN_USE'))
})

test('Ctrl-C ends a server on another port and withdraws its address', async () => {
  const home = temporaryDir()
  const child = built.start(['server', 'start', '--json', '--log-level', 'silent'], home)
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const { base_url: url } = JSON.parse(await firstLine(child)) as Ready
  expect(portOf(url)).toBeGreaterThanOrEqual(8420)
  expect(await json(home, 'server status')).toMatchObject({ base_url: url })
  child.kill('SIGINT')
  await ended
  expect(existsSync(fileOf(home))).toBe(false)
  expect((await run(home, 'server status')).exit).toBe(1)
})
