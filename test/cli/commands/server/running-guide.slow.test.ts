import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import process from 'node:process'
import { expect, it, onTestFinished } from 'vitest'
import { parse } from 'yaml'
import { contract } from '../../../../src/contract/index.js'
import { built, firstLine } from '../../../support/cli/built-cli.js'
import { redeemCode, temporaryDir } from '../../../support/cli/cli.js'
import { fileOfGuide, withReplaced } from '../../../support/guide-files.js'
import { sendTo } from '../../../support/server/client.js'
import { newTenant } from '../../../support/server/tenant.js'
import { findProgram, noProgram } from '../../../support/system-programs.js'

const STATE = '/var/lib/voucherctl'

/** The unit of the guide with the built command, and with its folder and port replaced. */
function unitIn(folder: string): { text: string; start: readonly string[] } {
  const program = join(folder, 'voucherctl')
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${built.bin}' "$@"\n`, { mode: 0o755 })
  const text = withReplaced(fileOfGuide('running', '/etc/systemd/system/voucherctl.service'), {
    '/usr/local/bin/voucherctl': program,
    [STATE]: join(folder, 'state'),
    '--port 8420': '--port 0',
    'User=voucherctl': 'User=root',
  })
  const [, line = ''] = /^ExecStart=(.*)$/m.exec(text) ?? []
  return { text, start: line.split(' ').slice(1) }
}

it('the command of the systemd unit starts a server that writes only below its state folder', async () => {
  const folder = temporaryDir()
  const { start } = unitIn(folder)
  const state = join(folder, 'state')
  mkdirSync(state, { mode: 0o700 })
  const child = built.start([...start, '--json'], state)
  onTestFinished(() => void child.kill('SIGKILL'))
  const { base_url: baseUrl, data_dir: dataDir } = JSON.parse(await firstLine(child))
  expect(dataDir).toBe(join(state, 'data'))
  expect((await fetch(`${baseUrl}/readyz`)).status).toBe(200)
  const gone = once(child, 'close')
  child.kill('SIGTERM')
  // systemd reports any other exit code as a failure of the service.
  expect(await gone).toEqual([0, null])
  expect(readdirSync(folder).sort()).toEqual(['state', 'voucherctl'])
})

it('systemd-analyze finds no mistake in the unit', ({ skip }) => {
  const program = findProgram('systemd-analyze')
  skip(program === undefined, noProgram('systemd-analyze'))
  const folder = temporaryDir()
  const file = join(folder, 'voucherctl.service')
  writeFileSync(file, unitIn(folder).text)
  const { status, stderr } = spawnSync(program as string, ['verify', '--man=no', file], { encoding: 'utf8' })
  // A misspelt setting is only a warning, which names the file.
  expect([status, stderr.split('\n').filter((it) => it.includes(file))]).toEqual([0, []])
})

it('systemd restarts the unit slowly enough for its default limit of 5 starts in 10 s', () => {
  // Beyond the limit the service stays stopped, for example until PostgreSQL has started.
  const [, seconds] = /^RestartSec=(\d+)$/m.exec(fileOfGuide('running', '/etc/systemd/system/voucherctl.service')) ?? []
  expect(Number(seconds)).toBeGreaterThan(10 / 5)
})

interface Alerts {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[]
}

it('the alerts name metrics and labels that the server has', { tags: 'health-routes/3' }, async () => {
  const child = built.start(['server', 'start', '--memory', '--port', '0', '--json'], temporaryDir())
  onTestFinished(() => void child.kill('SIGKILL'))
  const { base_url: baseUrl, operator_key_file: keyFile } = JSON.parse(await firstLine(child))
  const agent = new http.Agent()
  const tenant = await newTenant({ send: sendTo(baseUrl, agent), operatorKey: readFileSync(keyFile, 'utf8').trim() })
  // A family without a label value has no series.
  expect(
    (await tenant.runtime(contract.vouchers.redeem, { credential: { type: 'redeem_code', value: redeemCode } })).status,
  ).toBe(404)
  const metrics = await (await fetch(`${baseUrl}/metrics`)).text()
  const source = readFileSync('src/server/observe/metrics.ts', 'utf8')
  expect(parse(fileOfGuide('running', 'prometheus.yaml'))).toMatchObject({ rule_files: ['alerts.yaml'] })
  const { groups } = parse(fileOfGuide('running', 'alerts.yaml')) as Alerts
  const rules = groups.flatMap((it) => it.rules)
  expect(rules.length).toBeGreaterThan(5)
  const selectors = rules.flatMap(({ expr }) => [...expr.matchAll(/(voucherctl_\w+)(?:\{(\w+=)(~?)("[^"]*"))?/g)])
  const missing = selectors.filter(([, name = '', label = '', isPattern, value = '']) => {
    // Families of PostgreSQL have no series on SQLite.
    if (name.startsWith('voucherctl_postgres_')) return !source.includes(`${name.slice('voucherctl_'.length)}: '`)
    const pair = isPattern === '~' ? label : `${label}${value}`
    return !metrics.split('\n').some((line) => line.startsWith(name) && line.includes(pair))
  })
  expect(missing).toEqual([])
})
