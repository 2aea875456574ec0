import { readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { built } from '../support/cli/built-cli.js'
import { temporaryDir } from '../support/cli/cli.js'

const set = ['profiles', 'set', 'a', '--base-url', 'https://a.example']

const errorOf = ({ stderr }: { stderr: string }) => JSON.parse(stderr).error

test.each(['.config', '~/.config', './x', '~'])(
  'a profile goes below the home folder if XDG_CONFIG_HOME is %s, and doctor warns',
  async (folder) => {
    const home = temporaryDir()
    expect((await built.run(set, home, { XDG_CONFIG_HOME: folder })).exit).toBe(0)
    expect([readdirSync(home), readdirSync(join(home, '.config', 'voucherctl'))]).toEqual([['.config'], ['config.json']])
    const { stdout } = await built.run(['doctor', '--json'], home, { XDG_CONFIG_HOME: folder })
    const { checks } = JSON.parse(stdout)
    expect(checks.find((it: { name: string }) => it.name === 'folders')).toMatchObject({
      status: 'warn',
      message: `Ignored, no absolute path: XDG_CONFIG_HOME (${folder}).`,
    })
  },
)

test('a server puts data and registry below the home folder if their XDG variables are relative', async () => {
  const home = temporaryDir()
  const env = { XDG_DATA_HOME: 'data', XDG_STATE_HOME: '~/state', XDG_CACHE_HOME: 'cache' }
  const started = await built.run(['server', 'start', '--detach', '--port', '0', '--json'], home, env)
  expect(JSON.parse(started.stdout).data_dir).toBe(join(home, '.local', 'share', 'voucherctl'))
  const stopped = await built.run(['server', 'stop'], home, env)
  expect([stopped.exit, readdirSync(home)]).toEqual([0, ['.local']])
})

test.each([
  ['HOME', 'home'],
  ['HOME', '~/x'],
  ['VOUCHERCTL_CONFIG_DIR', '~/.voucherctl'],
])('commands refuse %s=%s and write nothing; doctor goes on, completion is silent', async (name, value) => {
  const cwd = temporaryDir()
  const env = { [name]: value }
  for (const args of [set, ['server', 'start', '--detach', '--port', '0'], ['quickstart', '--yes'], ['mcp', 'serve']]) {
    const ran = await built.run([...args, '--json'], cwd, env)
    expect([ran.exit, errorOf(ran).code]).toEqual([2, 'FOLDER_INVALID'])
    expect(errorOf(ran).message).toBe(`${name} is ${value}, no absolute path.`)
    expect(errorOf(ran).hint).toContain(`export ${name}=/home/you`)
  }
  const { checks } = JSON.parse((await built.run(['doctor', '--json'], cwd, env)).stdout)
  expect(checks.find((it: { name: string }) => it.name === 'folders').status).toBe('fail')
  expect(checks.length).toBeGreaterThan(20)
  const completed = await built.run(['__complete', 'bash', '--', 'voucherctl', 'vouchers', 'get', ''], cwd, env)
  expect([completed.exit, completed.stderr]).toEqual([0, ''])
  expect(readdirSync(cwd)).toEqual([])
})

test('an empty HOME counts as unset: the system names the home folder', async () => {
  const { stdout } = await built.run(['doctor', '--json', '--dry-run'], temporaryDir(), { HOME: '' })
  const { checks } = JSON.parse(stdout)
  expect(checks.find((it: { name: string }) => it.name === 'folders')).toMatchObject({ status: 'ok' })
})

test.each(['--data=~/x', '--data=~', '--data=~root/x'])('server start refuses %s and makes no folder', async (flag) => {
  const home = temporaryDir()
  const ran = await built.run(['server', 'start', flag, '--detach', '--json'], home)
  expect([ran.exit, errorOf(ran).message]).toEqual([2, `${flag.replace('=', ' is ')}, whose ~ no shell replaced.`])
  expect(readdirSync(home)).toEqual([])
})

test.runIf(process.platform === 'linux').each([
  ['/proc/none', 'the file system allows no folder there, ENOENT', '/proc/none'],
  ['/proc/self/none/x', 'the file system allows no folder there, ENOENT', '/proc/self/none'],
  ['file', 'a file or a broken link is in its place, EEXIST', 'file'],
  ['file/x', 'a file or a broken link is in its place, EEXIST', 'file'],
  ['broken/x', 'a file or a broken link is in its place, EEXIST', 'broken'],
  ['circle/x', 'a file or a broken link is in its place, EEXIST', 'circle'],
  ['n'.repeat(300), 'ENAMETOOLONG', 'n'.repeat(300)],
])('server start that cannot make the data folder %s names folder and cause', async (path, cause, named) => {
  const home = temporaryDir()
  writeFileSync(join(home, 'file'), '')
  symlinkSync(join(home, 'missing'), join(home, 'broken'))
  symlinkSync('circle', join(home, 'circle'))
  const absolute = (it: string) => (it.startsWith('/') ? it : join(home, it))
  const reason = `the folder ${absolute(named)} cannot be made (${cause})`
  const started = await built.run(['server', 'start', '--data', absolute(path), '--json'], home)
  expect([started.exit, errorOf(started).message]).toEqual([
    2,
    `${absolute(path)} cannot be the data folder: ${reason}.`,
  ])
})

test.runIf(process.platform === 'linux')('profile, inbox and completion end and name /proc/none', async () => {
  const home = temporaryDir()
  const env = { VOUCHERCTL_WEBHOOK_SECRET: 'x'.repeat(32), VOUCHERCTL_CONFIG_DIR: '/proc/none' }
  for (const args of [
    set,
    ['webhook', 'listen', '--port', '0', '--inbox', '/proc/none'],
    ['completion', 'install', 'bash', '--startup-file', '/proc/none/x', '--yes'],
  ])
    expect(errorOf(await built.run([...args, '--json'], home, env)).message).toContain(
      'the folder /proc/none cannot be made (the file system allows no folder there, ENOENT)',
    )
})
