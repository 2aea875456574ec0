// Texts of the installed command: the first help page, suggestions, the end of quickstart, replays.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasTerminal, onTerminal } from '../support/cli/terminal.js'
import { environment, folder, node, voucherctl } from './installed.js'

test('--help fits a terminal of 24 rows of 80 columns and ends with the first steps', async () => {
  const lines = (await voucherctl('--help')).stdout.split('\n')
  expect(lines.length).toBeLessThanOrEqual(23)
  expect(Math.max(...lines.map((it) => it.length))).toBeLessThanOrEqual(80)
  expect(lines.at(-3)).toBe('Start here:')
})

test.each([
  ['vouchers list', 'platform vouchers list'],
  ['vouchers get', 'platform vouchers show'],
  ['docs', 'help'],
])('the mistyped command %s leads to %s', async (line, meant) => {
  const { exitCode, stderr } = await voucherctl(...line.split(' '))
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining(`Did you mean \`voucherctl ${meant}\`?`)])
})

test('quickstart ends with --keep, open and the guide', async () => {
  const { next } = JSON.parse((await voucherctl('quickstart', '--json')).stdout)
  expect(next).toEqual([
    'voucherctl quickstart --keep --no-pause',
    'voucherctl open -p quickstart',
    'voucherctl help first-steps',
  ])
})

describe('commands on a kept server', () => {
  beforeAll(() => voucherctl('quickstart', '--keep', '--no-pause'))
  afterAll(() => voucherctl('server', 'stop', '-p', 'quickstart'))
  const run = (line: string) => voucherctl(...line.split(' '), '-p', 'quickstart')

  test('a replay of a reversed redemption shows the present voucher', async () => {
    const template = JSON.parse((await run('templates list --json')).stdout).items[0].id
    const issued = await run(`vouchers issue --template ${template} --external-id t1 --recipient u1 --json`)
    const code = JSON.parse(issued.stdout).credentials.find((it: { type: string }) => it.type === 'redeem_code').value
    const redeem = `vouchers redeem ${code} --idempotency-key k1`
    await run(`vouchers reverse ${JSON.parse((await run(`${redeem} --json`)).stdout).id}`)
    expect((await run(redeem)).stdout).toMatch(/^voucher status +issued\nvoucher redeemable +yes$/m)
    expect(JSON.parse((await run(`${redeem} --json`)).stdout).voucher.status).toBe('redeemed')
  })

  test('secure call takes a path without /api/v1 and with a query, as api does', async () => {
    const path = 'GET /open-platform/vouchers/templates?limit=1'
    expect((await run(`secure call ${path} --json`)).stdout).toBe((await run(`api ${path}`)).stdout)
  })

  test('GET / is 404, and names `voucherctl open` to a browser', async () => {
    const url = JSON.parse((await run('server status --json')).stdout).base_url
    const response = await fetch(url, { headers: { accept: 'text/html' } })
    expect([response.status, await response.text()]).toEqual([404, expect.stringMatching(/^.*voucherctl open\n$/)])
  })

  test.runIf(hasTerminal)('doctor on a terminal keeps each suggested command on one line', async () => {
    const terminal = onTerminal(`${node} node_modules/voucherctl/bin/voucherctl.js doctor`, folder, environment)
    await terminal.exit
    expect(terminal.shown()).toContain('voucherctl server start')
    for (const [command] of terminal.shown().matchAll(/`[^`]*`/g)) expect(command).not.toContain('\n')
  })
})
