import { execFile } from 'node:child_process'
import {
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
import { built } from '../../support/cli/built-cli.js'
import { cli, secrets, stub, success, temporaryDir } from '../../support/cli/cli.js'
import { homeWithProfiles } from '../../support/cli/profiles.js'
import { pageOf } from '../../support/cli/samples.js'

const folder = (home: string) => join(home, '.config', 'voucherctl')
const config = (home: string) => join(folder(home), 'config.json')
const namesIn = (home: string) => Object.keys(JSON.parse(readFileSync(config(home), 'utf8')).profiles).sort()
const set = (name: string) => ['profiles', 'set', name, '--base-url', `https://${name}.example`]

test('the next command that writes profiles removes the draft file of a killed command', async () => {
  const home = temporaryDir()
  await cli(set('a'), { home })
  writeFileSync(join(folder(home), 'config.json.tmp-1234567890abcdef'), secrets.VOUCHERCTL_TOKEN, { mode: 0o600 })
  await cli(set('b'), { home })
  expect(readdirSync(folder(home))).toEqual(['config.json'])
})

test('writing profiles keeps a symbolic link and makes its target 0600', { tags: 'files-with-secrets/1' }, async () => {
  const home = temporaryDir()
  const kept = join(temporaryDir(), 'kept.json')
  writeFileSync(kept, '{"current":"default","profiles":{}}', { mode: 0o644 })
  mkdirSync(folder(home), { recursive: true })
  symlinkSync(kept, config(home))
  expect((await cli(set('a'), { home })).exit).toBe(0)
  expect([lstatSync(config(home)).isSymbolicLink(), statSync(kept).mode & 0o777]).toEqual([true, 0o600])
  expect(namesIn(home)).toEqual(['a'])
})

/** Runs a command with a file size limit of `blocks` * 1,024 bytes. */
function withDisk(blocks: number, args: readonly string[], home: string) {
  const script = `trap '' XFSZ; ulimit -f ${blocks}; exec "$0" "$@"`
  const options = { cwd: home, env: built.environment(home) }
  return new Promise<{ exit: number | null; stdout: string; stderr: string }>((resolve) => {
    const child = execFile(
      'bash',
      ['-c', script, process.execPath, built.bin, ...args],
      options,
      (_error, stdout, stderr) => resolve({ exit: child.exitCode, stdout, stderr }),
    )
  })
}

test.runIf(process.platform === 'linux')(
  'a command on a full disk leaves the profile file unchanged and leaves no draft file',
  async () => {
    const home = homeWithProfiles(Object.fromEntries(Array.from({ length: 90 }, (_, n) => [`profile-${n}`, {}])))
    const before = readFileSync(config(home), 'utf8')
    expect(before.length).toBeGreaterThan(1_024)
    for (const blocks of [0, 1]) {
      const ran = await withDisk(blocks, [...set('a'), '--json'], home)
      expect([ran.exit, ran.stdout, JSON.parse(ran.stderr).error.code]).toEqual([1, '', 'FILE_UNWRITABLE'])
      expect(readFileSync(config(home), 'utf8')).toBe(before)
      expect(readdirSync(folder(home))).toEqual(['config.json'])
    }
  },
)

test('login exits 1 and prints only the error object if it cannot store the credential', async () => {
  const { baseUrl } = await stub(() => success(pageOf()))
  const home = temporaryDir()
  writeFileSync(join(home, 'file'), '')
  const env = { VOUCHERCTL_CONFIG_DIR: join(home, 'file', 'folder') }
  const stdin = secrets.VOUCHERCTL_TOKEN
  const ran = await cli(`login --with-token - --json --base-url ${baseUrl}`, { home, env, stdin })
  expect([ran.exit, ran.stdout, JSON.parse(ran.stderr).error.code]).toEqual([1, '', 'FILE_UNWRITABLE'])
  expect(existsSync(config(home))).toBe(false)
})

test('login warns about plain text before it stores the credential', async () => {
  const { baseUrl } = await stub(() => success(pageOf()))
  const home = temporaryDir()
  const seen: boolean[] = []
  const ran = await cli(`login --with-token - --base-url ${baseUrl}`, {
    home,
    stdin: secrets.VOUCHERCTL_TOKEN,
    onStderr: (text) => {
      if (text.includes('plain text')) seen.push(existsSync(config(home)))
    },
  })
  expect([ran.exit, seen, existsSync(config(home))]).toEqual([0, [false], true])
})
