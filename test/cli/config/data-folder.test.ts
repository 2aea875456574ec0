import { execFileSync } from 'node:child_process'
import fs, {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import process from 'node:process'
import { expect, test, vi } from 'vitest'
import { checkDataFolder } from '../../../src/cli/commands/doctor/files.js'
import { prepareDataFolder } from '../../../src/cli/config/data-folder.js'
import { cli, temporaryDir } from '../../support/cli/cli.js'
import { foreignFile } from '../../support/foreign-file.js'

const mode = (path: string) => (statSync(path).mode & 0o777).toString(8)

/** Runs `server start` and aborts it immediately. */
function start(args: string, given: Parameters<typeof cli>[1] = {}) {
  const signal = AbortSignal.abort()
  return cli(`server start --port 0 --log-level silent ${args}`, { ...given, signal })
}

const PRIVATE = ['keys.json', 'operator.key', 'secure-keys.json', 'voucherctl.db']

test('server start makes its files private and warns about each change', { tags: 'data-folder/3' }, async () => {
  const dir = join(temporaryDir(), 'data')
  expect(await start(`--data ${dir} --json`)).toMatchObject({ exit: 0, stderr: '' })
  for (const name of PRIVATE) chmodSync(join(dir, name), 0o640)
  const ran = await start(`--data ${dir} --json`)
  expect(ran.exit).toBe(0)
  expect(ran.stderr.trimEnd().split('\n')).toEqual(
    PRIVATE.map((name) => `warning: ${join(dir, name)} was open to other users of this machine; its mode is 0600 now.`),
  )
  expect(PRIVATE.map((name) => mode(join(dir, name)))).toEqual(['600', '600', '600', '600'])
  expect((await start(`--data ${dir} --json`)).stderr).toBe('')
})

test('server start makes the default folder private, not a --data folder', { tags: 'data-folder/1' }, async () => {
  const home = temporaryDir()
  const own = join(home, '.local', 'share', 'voucherctl')
  mkdirSync(own, { recursive: true })
  chmodSync(own, 0o755)
  expect((await start('', { home })).stderr).toBe(
    `warning: ${own} was open to other users of this machine; its mode is 0700 now.\n`,
  )
  const named = join(temporaryDir(), "it's mine")
  mkdirSync(named)
  for (const [bits, warning] of [
    [0o755, ''],
    [
      0o775,
      `warning: Other users of this machine can write to ${named}. Close it: chmod 700 '${named.replace("'", "'\\''")}'\n`,
    ],
  ] as const) {
    chmodSync(named, bits)
    const ran = await cli(['server', 'start', '--port', '0', '--log-level', 'silent', '--data', named], {
      signal: AbortSignal.abort(),
    })
    expect([ran.exit, ran.stderr, mode(named)]).toEqual([0, warning, bits.toString(8)])
  }
})

const links: [what: string, make: (path: string, target: string) => void][] = [
  ['a link to a named pipe', linkTo((target) => void execFileSync('mkfifo', ['-m', '644', target]))],
  ['a named pipe', (path) => void execFileSync('mkfifo', ['-m', '644', path])],
  ['a link to a file', linkTo((target) => writeFileSync(target, '', { mode: 0o644 }))],
  ['a folder', (path) => mkdirSync(path, { mode: 0o755 })],
]

function linkTo(make: (target: string) => void) {
  return (path: string, target: string) => {
    make(target)
    symlinkSync(target, path)
  }
}

test.each(links)('server start and doctor leave the mode of %s', { tags: 'data-folder/3' }, async (_what, make) => {
  const folder = temporaryDir()
  for (const name of [...PRIVATE, 'page-sessions.json']) {
    const dir = join(folder, `data-${name}`)
    mkdirSync(dir, { mode: 0o700 })
    const path = join(dir, name)
    make(path, join(folder, `target-${name}`))
    const before = mode(path)
    const prepared = prepareDataFolder(dir, true)
    const warning = `${path} is open to other users of this machine, and keeps its mode, because it is no file of yours.`
    expect([prepared, mode(path)]).toEqual([{ ok: true, warnings: [warning] }, before])
    expect(checkDataFolder(dir)).toMatchObject({ fix: 'Put a file of your own in its place.' })
  }
})

test('server start leaves the mode of a file of another user in the data folder', (context) => {
  const dir = temporaryDir()
  const path = join(dir, 'operator.key')
  foreignFile(context, path)
  chmodSync(path, 0o644)
  prepareDataFolder(dir, true)
  expect(mode(path)).toBe('644')
})

test('a failed server start includes permission warnings in its error object', async () => {
  const dir = temporaryDir()
  writeFileSync(join(dir, 'keys.json'), 'no keys')
  chmodSync(join(dir, 'keys.json'), 0o644)
  const ran = await start(`--data ${dir} --json`)
  expect(ran.exit).toBe(1)
  expect(JSON.parse(ran.stderr).error).toMatchObject({
    code: 'KEYS_UNUSABLE',
    details: { warnings: [expect.stringContaining('keys.json was open')] },
  })
})

const otherThings: [what: string, reason: string, make: (path: string) => void][] = [
  ['a folder', 'a folder, pipe or device is in the place of a file', (path) => mkdirSync(path, { mode: 0o700 })],
  [
    'a named pipe',
    'a folder, pipe or device is in the place of a file',
    (path) => void execFileSync('mkfifo', ['-m', '600', path]),
  ],
  ['a file of 17 MiB', 'it is larger than 16 MiB', ofSize(17 * 1024 * 1024)],
]

function ofSize(bytes: number) {
  return (path: string) => {
    writeFileSync(path, '', { mode: 0o600 })
    truncateSync(path, bytes)
  }
}

test.each(otherThings)(
  'server start, export and import refuse %s in the place of keys',
  async (_what, reason, make) => {
    const folder = temporaryDir()
    const dir = join(folder, 'data')
    const made = join(folder, 'export')
    await start(`--data ${dir}`)
    await cli(`server export --data ${dir} --out ${made}`)
    const exportAgain = () => cli(`server export --data ${dir} --out x --json`, { cwd: folder })
    for (const name of ['keys.json', 'operator.key', 'secure-keys.json']) {
      const path = join(dir, name)
      renameSync(path, `${path}.kept`)
      make(path)
      const tried = name === 'secure-keys.json' ? [exportAgain] : []
      for (const run of [() => start(`--data ${dir} --json`), ...tried]) {
        const ran = await run()
        const { code, message } = JSON.parse(ran.stderr).error
        expect([name, ran.exit, code]).toEqual([name, 1, 'KEYS_UNUSABLE'])
        expect(message).toMatch(`${path} cannot be read: ${reason}. Re`)
      }
      rmSync(path, { recursive: true })
      renameSync(`${path}.kept`, path)
    }
    const other = join(folder, 'other')
    mkdirSync(other, { mode: 0o700 })
    copyFileSync(join(dir, 'keys.json'), join(other, 'keys.json'))
    make(join(other, 'secure-keys.json'))
    const ran = await cli(`server import ${made} --data ${other} --json`)
    expect([ran.exit, JSON.parse(ran.stderr).error.code]).toEqual([1, 'KEYS_UNUSABLE'])
  },
)

test('server start refuses a --key-file that others can read', { tags: 'data-folder/3' }, async () => {
  const folder = temporaryDir()
  await start(`--data ${join(folder, 'first')}`)
  const keys = join(folder, 'first', 'keys.json')
  for (const bits of [0o644, 0o604, 0o620]) {
    chmodSync(keys, bits)
    const ran = await start(`--data ${join(folder, 'second')} --key-file ${keys} --json`)
    expect(ran.exit).toBe(1)
    expect(JSON.parse(ran.stderr).error).toMatchObject({ code: 'KEYS_UNUSABLE', hint: `Close it: chmod 600 ${keys}` })
    expect(mode(keys)).toBe(bits.toString(8))
  }
  expect(existsSync(join(folder, 'second'))).toBe(false)
  chmodSync(keys, 0o600)
  expect((await start(`--data ${join(folder, 'second')} --key-file ${keys}`)).exit).toBe(0)
})

test('server start accepts a group-readable --key-file only if owned by root', { tags: 'data-folder/3' }, async () => {
  const folder = temporaryDir()
  await start(`--data ${join(folder, 'first')}`)
  const keys = join(folder, 'first', 'keys.json')
  chmodSync(keys, 0o440)
  const asRoot = process.getuid?.() === 0
  const taken = () => start(`--memory --key-file ${keys}`)
  expect((await taken()).exit).toBe(asRoot ? 0 : 1)
  if (!asRoot) return
  chownSync(keys, 12_345, 12_345)
  expect((await taken()).exit).toBe(1)
})

test.each([
  ['file', 'file'],
  ['file/below', 'file'],
  ['dangling', 'dangling'],
])('server start exits 2 for the unusable data folder "%s" and names %s as its cause', async (name, cause) => {
  const cwd = temporaryDir()
  const { symlinkSync } = await import('node:fs')
  writeFileSync(join(cwd, 'file'), '')
  symlinkSync(join(cwd, 'nowhere', 'at', 'all'), join(cwd, 'dangling'))
  for (const how of ['', '--detach']) {
    const ran = await start(`--data ${name} ${how} --json`, { cwd })
    expect([ran.exit, ran.stdout]).toEqual([2, ''])
    expect(JSON.parse(ran.stderr).error.message).toBe(
      `${join(cwd, name)} cannot be the data folder: the folder ${join(cwd, cause)} cannot be made (a file or a broken link is in its place, EEXIST).`,
    )
  }
  expect(readdirSync(cwd).sort()).toEqual(['dangling', 'file'])
})

test('server start exits 2 for a data folder without write permission and prints its path', async () => {
  const asRoot = process.getuid?.() === 0
  const closed = temporaryDir()
  chmodSync(closed, 0o500)
  // access(2) checks the real user id, so as root only the creation of a subfolder fails.
  const dir = asRoot ? join(closed, 'new') : closed
  if (asRoot) process.seteuid?.(12_345)
  try {
    const ran = await start(`--data ${dir} --json`)
    expect([ran.exit, JSON.parse(ran.stderr).error.message]).toEqual([
      2,
      asRoot
        ? `${dir} cannot be the data folder: the folder ${dir} cannot be made (you may not write there, EACCES).`
        : `${dir} cannot be the data folder (EACCES).`,
    ])
  } finally {
    if (asRoot) process.seteuid?.(0)
  }
})

test('server status and stop print the absolute path of the data folder', { tags: 'local-server/1' }, async () => {
  const cwd = temporaryDir()
  expect(JSON.parse((await cli('server status --data d --json', { cwd })).stdout).data_dir).toBe(join(cwd, 'd'))
  expect(JSON.parse((await cli('server stop --data d --json', { cwd })).stdout).data_dir).toBe(join(cwd, 'd'))
})

test('server start exits 1 on a full disk and leaves no partial file', async () => {
  const dir = join(temporaryDir(), 'data')
  await start(`--data ${dir}`)
  const before = readdirSync(dir)
  const { writeFileSync: write } = fs
  const full = vi.spyOn(fs, 'writeFileSync').mockImplementation((file, ...rest) => {
    if (typeof file !== 'number') return write(file, ...rest)
    throw Object.assign(new Error(), { code: 'ENOSPC' })
  })
  syncBuiltinESMExports()
  const ran = await start(`--data ${dir} --json`).finally(() => {
    full.mockRestore()
    syncBuiltinESMExports()
  })
  expect(ran.exit).toBe(1)
  expect(JSON.parse(ran.stderr).error).toMatchObject({
    code: 'SERVER_START_FAILED',
    message: 'The disk of the data folder is full.',
    hint: 'Free some space, or choose another folder with --data.',
  })
  expect(readdirSync(dir)).toEqual(before)
})
