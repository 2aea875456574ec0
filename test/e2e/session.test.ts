// What depends on the version of Node: the store, prompts, file watches, and what a later process reads.
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasTerminal, onTerminal } from '../support/cli/terminal.js'
import { environment, folder, home, node, voucherctl } from './installed.js'

let baseUrl: string

beforeAll(async () => {
  const started = await voucherctl('server', 'start', '--detach', '--port', '0', '--json')
  baseUrl = (JSON.parse(started.stdout) as { base_url: string }).base_url
})
afterAll(async () => {
  await voucherctl('server', 'stop')
})

test('a snapshot is saved, listed and restored, and a reset without a terminal asks for --yes', async () => {
  const run = (line: string) => voucherctl('platform', ...line.split(' '), '--base-url', baseUrl)
  expect((await run('snapshots save e2e')).stdout).toContain('Saved e2e with 0 vouchers.')
  expect((await run('snapshots list -q')).stdout).toBe('e2e')
  expect((await run('snapshots restore e2e --yes')).exitCode).toBe(0)
  expect((await run('reset')).exitCode).toBe(3)
  expect((await run('reset --yes')).exitCode).toBe(0)
})

describe('quickstart, replays and completion', () => {
  beforeAll(() => voucherctl('quickstart', '--keep', '--no-pause'))
  afterAll(() => voucherctl('server', 'stop', '-p', 'quickstart'))
  const run = (line: string) => voucherctl(...line.split(' '), '-p', 'quickstart')

  test('quickstart --keep leaves a server and a profile that issues vouchers', async () => {
    const { stdout } = await run('templates list --json')
    const [template] = (JSON.parse(stdout) as { items: { id: string }[] }).items
    const issued = await run(`vouchers issue --template ${template?.id} --external-id e2e-1 --recipient user-7 --json`)
    expect(issued.exitCode).toBe(0)
    const { credentials } = JSON.parse(issued.stdout) as { credentials: { type: string; value: string }[] }
    const code = credentials.find((it) => it.type === 'redeem_code')?.value
    const redeem = `vouchers redeem --code ${code} --idempotency-key till-7`
    expect((await run(redeem)).stdout).toMatch(/Redeemed the voucher/)
    expect((await run(redeem)).stdout).toMatch(/^(?:✓ )?Replayed: first done at .*; nothing has changed since\.$/m)
    expect(JSON.parse((await run(`${redeem} --json`)).stdout)).toMatchObject({ replayed: true, since: null })
  })

  test('completion offers ids of a running server, and none after it has stopped', async () => {
    const tab = () => voucherctl('__complete', 'zsh', '-p', 'quickstart', 'apps', 'get', '')
    // A busy machine would miss the 250 ms of the first Tab.
    environment.VOUCHERCTL_COMPLETION_TIMEOUT = '20s'
    expect((await tab()).stdout).toMatch(/^words\napp_/)
    delete environment.VOUCHERCTL_COMPLETION_TIMEOUT
    await voucherctl('server', 'stop', '-p', 'quickstart')
    expect((await tab()).stdout).toBe('words')
  })
})

describe.runIf(hasTerminal)('prompts', () => {
  test('a prompt finds an application by its name, and the command ends with the line to repeat', async () => {
    const at = ['-p', 'e2e-prompts', '--base-url', baseUrl]
    await voucherctl('login', '--local', '--account', 'e2e-prompts', ...at)
    await voucherctl('apps', 'create', '--name', 'Corner shop', ...at)
    const made = await voucherctl('apps', 'create', '--name', 'Tea house', '--json', ...at)
    const { id } = JSON.parse(made.stdout) as { id: string }
    const command = [node, join('node_modules', 'voucherctl', 'bin', 'voucherctl.js'), 'apps', 'get', ...at].join(' ')
    const terminal = onTerminal(command, folder, { ...environment, TERM: 'xterm' })
    await terminal.until(id)
    terminal.type('tea')
    await terminal.until('  tea\r\n')
    terminal.type('\r')
    expect(await terminal.exit).toBe(0)
    expect(terminal.shown()).toContain(`\`voucherctl apps get --profile e2e-prompts --base-url ${baseUrl} ${id}\``)
  })
})

test('--watch runs a scenario again when its file changes', async () => {
  const file = join(home, 'watched.yaml')
  // The command may read a file that is written in place before its text is complete.
  const write = (text: string) => {
    writeFileSync(`${file}.new`, text)
    renameSync(`${file}.new`, file)
  }
  write('steps: [{ call: apps.list }]')
  const running = voucherctl('scenario', 'run', file, '--watch', '--json')
  let lines = 0
  running.stdout?.on('data', () => {
    lines += 1
    if (lines === 1) write('steps: [{ call: apps.list, expect: { status: 201 } }]')
    else running.kill('SIGINT')
  })
  const { stdout } = await running
  expect(stdout.split('\n').map((it) => (JSON.parse(it) as { passed: number }).passed)).toEqual([1, 0])
})
