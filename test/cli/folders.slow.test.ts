import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { built } from '../support/cli/built-cli.js'
import { temporaryDir } from '../support/cli/cli.js'

const set = ['profiles', 'set', 'a', '--base-url', 'https://a.example']

test('a detached server keeps its files below the home folder if XDG variables are relative', async () => {
  const home = temporaryDir()
  const env = { XDG_DATA_HOME: 'data', XDG_STATE_HOME: '~/state' }
  const started = await built.run(['server', 'start', '--detach', '--port', '0', '--json'], home, env)
  expect(JSON.parse(started.stdout).data_dir).toBe(join(home, '.local', 'share', 'voucherctl'))
  const stopped = await built.run(['server', 'stop'], home, env)
  expect([stopped.exit, readdirSync(home)]).toEqual([0, ['.local']])
})

test('a process with a relative HOME is refused, and its completion is silent', async () => {
  const cwd = temporaryDir()
  const ran = await built.run(set, cwd, { HOME: '~/x' })
  expect([ran.exit, ran.stderr]).toEqual([2, expect.stringContaining('HOME must be absolute, not ~/x.')])
  const completed = await built.run(['__complete', 'bash', '--', 'voucherctl', 'vouchers', 'get', ''], cwd, {
    HOME: 'x',
  })
  expect([completed.exit, completed.stderr, readdirSync(cwd)]).toEqual([0, '', []])
})

test('a process with an empty HOME takes the home folder that the system names', async () => {
  const { stdout } = await built.run(['doctor', '--json', '--dry-run'], temporaryDir(), { HOME: '' })
  expect(stdout).toMatch(/"name": "folders",\s+"status": "ok",\s+"message": "Home folder \//)
})

test.runIf(process.platform === 'linux')('a command with a home folder in /proc ends', async () => {
  const ran = await built.run(set, temporaryDir(), { HOME: '/proc/none' })
  expect([ran.exit, ran.stderr]).toEqual([1, expect.stringContaining('the folder /proc/none cannot be made')])
})
