import { readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cli, temporaryDir } from '../support/cli/cli.js'

const set = ['profiles', 'set', 'a', '--base-url', 'https://a.example']
const errorOf = ({ stderr }: { stderr: string }) => JSON.parse(stderr).error
const foldersOf = ({ stdout }: { stdout: string }) =>
  JSON.parse(stdout).checks.find((it: { name: string }) => it.name === 'folders')

test.each(['.config', '~/.config', './x', '~', '../x'])(
  'a profile goes below the home folder if XDG_CONFIG_HOME is %s, and doctor warns',
  { tags: 'folders/1' },
  async (folder) => {
    const home = temporaryDir()
    const given = { home, cwd: temporaryDir(), env: { XDG_CONFIG_HOME: folder } }
    expect((await cli(set, given)).exit).toBe(0)
    expect([readdirSync(given.cwd), readdirSync(join(home, '.config', 'voucherctl'))]).toEqual([[], ['config.json']])
    expect(foldersOf(await cli('doctor --json --dry-run', given))).toMatchObject({
      status: 'warn',
      message: `Ignored, because not absolute: XDG_CONFIG_HOME (${folder}).`,
    })
  },
)

test.each([
  ['HOME', 'home'],
  ['HOME', '~/x'],
  ['HOME', ''],
  ['VOUCHERCTL_CONFIG_DIR', '~/.voucherctl'],
])('commands refuse %s=%s and write no file, and doctor still runs', { tags: 'folders/1' }, async (name, value) => {
  const cwd = temporaryDir()
  const given = name === 'HOME' ? { home: value, cwd } : { home: cwd, cwd, env: { [name]: value } }
  for (const args of [
    'server start --memory',
    'quickstart --yes',
    'mcp serve',
    'completion install --yes',
    'apps list',
  ]) {
    const ran = await cli(`${args} --json`, given)
    expect([ran.exit, errorOf(ran).code]).toEqual([2, 'FOLDER_INVALID'])
    expect(errorOf(ran).message).toBe(`${name} must be absolute, not ${value || 'unset'}.`)
    expect(errorOf(ran).hint).toContain(`export ${name}=/home/you`)
  }
  const ran = await cli('doctor --json --dry-run', given)
  expect([foldersOf(ran).status, JSON.parse(ran.stdout).checks.length > 20]).toEqual(['fail', true])
  expect(readdirSync(cwd)).toEqual([])
})

test.each(['--data=~/x', '--data=~', '--data=~root/x'])('server start refuses %s and makes no folder', async (flag) => {
  const cwd = temporaryDir()
  const ran = await cli(['server', 'start', flag, '--json'], { cwd })
  expect([ran.exit, errorOf(ran).message]).toEqual([2, `${flag.replace('=', ' is ')}, whose ~ no shell replaced.`])
  expect(readdirSync(cwd)).toEqual([])
})

const inPlace = 'a file or a broken link is in its place, EEXIST'

test.runIf(process.platform === 'linux').each([
  ['/proc/none', 'the file system allows no folder there, ENOENT', '/proc/none'],
  ['/proc/self/none/x', 'the file system allows no folder there, ENOENT', '/proc/self/none'],
  ['file', inPlace, 'file'],
  ['file/x', inPlace, 'file'],
  ['broken/x', inPlace, 'broken'],
  ['circle/x', inPlace, 'circle'],
  ['n'.repeat(300), 'ENAMETOOLONG', 'n'.repeat(300)],
])('server start names the folder and the cause if --data %s cannot be made', async (path, cause, named) => {
  const cwd = temporaryDir()
  writeFileSync(join(cwd, 'file'), '')
  symlinkSync(join(cwd, 'missing'), join(cwd, 'broken'))
  symlinkSync('circle', join(cwd, 'circle'))
  const absolute = (it: string) => (it.startsWith('/') ? it : join(cwd, it))
  const ran = await cli(['server', 'start', '--data', path, '--json'], { cwd })
  expect([ran.exit, errorOf(ran).message]).toEqual([
    2,
    `${absolute(path)} cannot be the data folder: the folder ${absolute(named)} cannot be made (${cause}).`,
  ])
})

test.runIf(process.platform === 'linux')('profile, inbox and completion name the refused folder', async () => {
  const secret = { VOUCHERCTL_WEBHOOK_SECRET: 'x'.repeat(32) }
  for (const [args, env] of [
    [set, { VOUCHERCTL_CONFIG_DIR: '/proc/none' }],
    [['webhook', 'listen', '--port', '0', '--inbox', '/proc/none'], secret],
    [['completion', 'install', '--shell', 'bash', '--yes'], { XDG_DATA_HOME: '/proc/none' }],
  ] as const)
    expect(errorOf(await cli([...args, '--json'], { env })).message).toContain(
      'the folder /proc/none cannot be made (the file system allows no folder there, ENOENT)',
    )
})
