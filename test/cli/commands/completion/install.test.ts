import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { installLocation } from '../../../../src/cli/commands/completion/install-location.js'
import { scriptFor } from '../../../../src/cli/commands/completion/scripts.js'
import { shellNames } from '../../../../src/cli/commands/completion/shells.js'
import { entries } from '../../../../src/cli/program.js'
import { platformOf } from '../../../../src/files/platform.js'
import { cli, temporaryDir } from '../../../support/cli/cli.js'
import { bash, hasShell, nameOf } from '../../../support/cli/shells.js'

const scripts = {
  bash: '.local/share/bash-completion/completions/voucherctl',
  zsh: '.local/share/zsh/site-functions/_voucherctl',
  fish: '.config/fish/completions/voucherctl.fish',
  powershell: '.config/voucherctl/completion/voucherctl.ps1',
}
const startups = { bash: '.bashrc', zsh: '.zshrc', powershell: '.config/powershell/Microsoft.PowerShell_profile.ps1' }
const withStartup = ['bash', 'zsh', 'powershell'] as const

const read = (...path: string[]) => readFileSync(join(...path), 'utf8')
const files = (dir: string) =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((it) => !it.isDirectory())
    .map((it) => join(it.parentPath, it.name))
    .sort()

test.each(shellNames)(
  'completion %s prints the script for that shell, with --json in a JSON document',
  async (shell) => {
    const script = await scriptFor(shell, entries)
    expect(await cli(`completion ${shell}`)).toMatchObject({ exit: 0, stdout: script, stderr: '' })
    expect(JSON.parse((await cli(`completion ${shell} --json`)).stdout)).toEqual({ shell, script })
  },
)

test.each(shellNames)(
  'completion install --shell %s is idempotent, and uninstall removes all its files',
  async (shell) => {
    const home = temporaryDir()
    const install = async () => JSON.parse((await cli(`completion install --shell ${shell} --json`, { home })).stdout)
    const first = await install()
    const written = files(home)
    expect([...first.changed].sort()).toEqual(written)
    expect(read(home, scripts[shell])).toBe(await scriptFor(shell, entries))
    expect(first.startup_file).toBe(shell === 'fish' ? null : join(home, startups[shell]))
    const contents = written.map((it) => read(it))
    expect((await install()).changed).toEqual([])
    expect(files(home).map((it) => read(it))).toEqual(contents)
    const removed = JSON.parse((await cli(`completion uninstall --shell ${shell} --json`, { home })).stdout)
    expect([...removed.changed].sort()).toEqual(written)
    expect(files(home)).toEqual([])
    expect(await cli(`completion uninstall --shell ${shell}`, { home })).toMatchObject({ exit: 0 })
  },
)

test.each(withStartup)(
  'completion install and uninstall preserve content, mode and symlink of the %s startup file',
  async (shell) => {
    const home = temporaryDir()
    const own = Buffer.concat([Buffer.from('# Größe\r\nexport A=1\n'), Buffer.from([0xff, 0xfe, 0x0a])])
    mkdirSync(join(home, 'dotfiles'))
    mkdirSync(join(home, '.config/powershell'), { recursive: true })
    const real = join(home, 'dotfiles/startup')
    writeFileSync(real, own)
    chmodSync(real, 0o640)
    symlinkSync(real, join(home, startups[shell]))
    await cli(`completion install --shell ${shell}`, { home })
    expect(readFileSync(real).subarray(0, own.length)).toEqual(own)
    expect(read(real)).toContain(scripts[shell])
    await cli(`completion uninstall --shell ${shell}`, { home })
    expect(readFileSync(real)).toEqual(own)
    expect(statSync(real).mode & 0o777).toBe(0o640)
    expect(lstatSync(join(home, startups[shell])).isSymbolicLink()).toBe(true)
    expect(readdirSync(join(home, 'dotfiles'))).toEqual(['startup'])
  },
)

test('completion install updates its own lines in a startup file and adds a missing line end', async () => {
  const home = temporaryDir()
  const rc = join(home, '.bashrc')
  writeFileSync(rc, 'export A=1')
  await cli('completion install --shell bash', { home })
  expect(read(rc)).toMatch(/^export A=1\n# >>> /)
  const moved = `${read(rc)}export B=2\n`.replace('if [', 'if false && [')
  writeFileSync(rc, moved)
  await cli('completion install --shell bash', { home })
  expect(read(rc)).toBe(moved.replace('if false && [', 'if ['))
  await cli('completion uninstall --shell bash', { home })
  expect(read(rc)).toBe('export A=1\nexport B=2\n')
})

test.each(['install', 'uninstall'])(
  'completion %s does not change a startup file in which one of its two marks is missing',
  async (verb) => {
    const home = temporaryDir()
    const rc = join(home, '.bashrc')
    writeFileSync(rc, '# >>> voucherctl completion >>>\nexport A=1\n')
    const { exit, stderr } = await cli(`completion ${verb} --shell bash`, { home })
    expect([exit, stderr]).toEqual([1, expect.stringContaining('marks')])
    expect(read(rc)).toBe('# >>> voucherctl completion >>>\nexport A=1\n')
    expect(files(home)).toEqual([rc])
  },
)

test('completion install and uninstall do not change a script file of another program', async () => {
  const home = temporaryDir()
  const script = join(home, scripts.fish)
  mkdirSync(join(home, '.config/fish/completions'), { recursive: true })
  writeFileSync(script, '# mine\n')
  expect(await cli('completion install --shell fish', { home })).toMatchObject({ exit: 1 })
  await cli('completion uninstall --shell fish', { home })
  expect(read(script)).toBe('# mine\n')
})

test('completion install exits 1 and leaves no file if the script folder cannot be created', async () => {
  const home = temporaryDir()
  writeFileSync(join(home, '.config'), 'a file where the folder should be')
  const { exit, stderr } = await cli('completion install --shell fish', { home })
  expect([exit, stderr]).toEqual([1, expect.stringContaining('completion bash')])
  expect(files(home)).toEqual([join(home, '.config')])
})

test('completion install detects the shell from SHELL and exits 3 if that is unsupported', async () => {
  const home = temporaryDir()
  const { stdout } = await cli('completion install --json', { home, env: { SHELL: '/usr/local/bin/zsh' } })
  expect(JSON.parse(stdout).shell).toBe('zsh')
  for (const env of [{}, { SHELL: '/bin/tcsh' }]) {
    const { exit, stderr } = await cli('completion install', {
      home: temporaryDir(),
      env: env as Record<string, string>,
    })
    expect([exit, stderr]).toEqual([3, expect.stringContaining('--shell')])
  }
})

test('completion install --startup-file changes that file and is refused for fish', async () => {
  const home = temporaryDir()
  const { exit } = await cli('completion install --shell zsh --startup-file my/rc', { home })
  expect([exit, existsSync(join(home, 'my/rc')), existsSync(join(home, '.zshrc'))]).toEqual([0, true, false])
  expect(await cli('completion install --shell fish --startup-file rc', { home })).toMatchObject({ exit: 2 })
})

test('installLocation() derives script and startup file from shell variables and the platform', () => {
  const home = temporaryDir()
  const place = (shell: 'bash' | 'zsh' | 'powershell', env: Record<string, string>, platform: NodeJS.Platform) =>
    installLocation(shell, { env, homeDir: home, cwd: home }, undefined, platformOf(platform))
  const startup = (path: string) => expect.objectContaining({ startup: expect.objectContaining({ path }) })
  expect(place('zsh', { ZDOTDIR: '/z', XDG_DATA_HOME: '/d' }, 'linux')).toEqual({
    script: '/d/zsh/site-functions/_voucherctl',
    startup: { path: '/z/.zshrc', lines: expect.anything() },
  })
  expect(place('bash', { BASH_COMPLETION_USER_DIR: '/b' }, 'linux')).toMatchObject({
    script: '/b/completions/voucherctl',
  })
  expect(place('bash', {}, 'darwin')).toEqual(startup(join(home, '.bash_profile')))
  writeFileSync(join(home, '.profile'), '')
  expect(place('bash', {}, 'darwin')).toEqual(startup(join(home, '.profile')))
  expect(place('powershell', {}, 'win32')).toBe('startup file unknown')
})

test('completion install quotes a home folder with spaces and quotes in the startup file', () => {
  const home = "/home/o'neil smith"
  expect(installLocation('bash', { env: {}, homeDir: home, cwd: home }, undefined, platformOf('linux'))).toMatchObject({
    startup: { lines: [expect.stringContaining(`'/home/o'\\''neil smith/`)] },
  })
})

test.skipIf(!hasShell('bash'))(`${nameOf('bash')} completes in a new shell after completion install`, async () => {
  const home = temporaryDir()
  await cli('completion install --shell bash', { home })
  mkdirSync(join(home, 'bin'))
  writeFileSync(join(home, 'bin/voucherctl'), `#!/bin/sh\nprintf 'ran:'; printf ' <%s>' "$@"; echo\n`, { mode: 0o755 })
  const env = { PATH: `${join(home, 'bin')}:${process.env.PATH}`, HOME: home, TERM: 'dumb' }
  const script = join(home, '.bashrc')
  expect(await bash(['voucherctl vou\tiss\t'], { home, env, script })).toEqual(['ran: <vouchers> <issue>'])
})
