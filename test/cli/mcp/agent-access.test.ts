import { execFileSync } from 'node:child_process'
import { linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { databaseUrlVariable } from '../../../src/cli/commands/server/database-url.js'
import type { Host } from '../../../src/cli/host/host.js'
import { credentialVariables, webhookSecretVariable } from '../../../src/cli/host/secrets.js'
import { agentEnvironment, isCredential, readAgentFile } from '../../../src/cli/mcp/agent-access.js'
import { temporaryDir } from '../../support/cli/cli.js'

const TEXT = 'name: x\n'
const MIB = 1024 * 1024

/** A working folder with a file of each kind, beside a folder with a secret. */
function folders() {
  const outside = temporaryDir()
  const cwd = join(outside, 'work')
  mkdirSync(join(cwd, 'sub'), { recursive: true })
  for (const it of ['a.yaml', 'b.yml', 'c.json', 'sub/d.yaml', 'UPPER.YAML', 'notes.txt', '.env', 'yaml', 'a.yaml.bak'])
    writeFileSync(join(cwd, it), TEXT)
  writeFileSync(join(outside, 'secret.yaml'), TEXT)
  mkdirSync(join(outside, 'work-beside'))
  writeFileSync(join(outside, 'work-beside', 'secret.yaml'), TEXT)
  writeFileSync(join(cwd, 'full.yaml'), 'a'.repeat(MIB))
  writeFileSync(join(cwd, 'large.yaml'), 'a'.repeat(MIB + 1))
  mkdirSync(join(cwd, 'folder.yaml'))
  execFileSync('mkfifo', [join(cwd, 'fifo.yaml')])
  symlinkSync('a.yaml', join(cwd, 'inner.yaml'))
  symlinkSync('notes.txt', join(cwd, 'renamed.yaml'))
  symlinkSync('../secret.yaml', join(cwd, 'outer.yaml'))
  symlinkSync('/dev/zero', join(cwd, 'zero.yaml'))
  symlinkSync('missing.yaml', join(cwd, 'dangling.yaml'))
  symlinkSync('loop.yaml', join(cwd, 'loop.yaml'))
  symlinkSync('..', join(cwd, 'up'))
  linkSync(join(cwd, 'a.yaml'), join(cwd, 'hard.yaml'))
  return { outside, cwd, read: (path: string) => readAgentFile({ cwd } as Host, path) }
}

const readable = [
  'a.yaml',
  'b.yml',
  'c.json',
  './sub/../a.yaml',
  'sub/d.yaml',
  'inner.yaml',
  'hard.yaml',
  'full.yaml',
  'a.yaml/',
]

const refused = [
  ...['../secret.yaml', 'sub/../../secret.yaml', '../work-beside/secret.yaml', 'up/secret.yaml', 'outer.yaml'],
  ...['notes.txt', '.env', 'yaml', 'a.yaml.bak', 'UPPER.YAML', 'renamed.yaml', 'a.yaml\0.txt', 'a\0.yaml'],
  ...[
    'large.yaml',
    'folder.yaml',
    'fifo.yaml',
    'zero.yaml',
    'dangling.yaml',
    'loop.yaml',
    'missing.yaml',
    '.',
    '',
    '-',
  ],
  ...['/dev/zero', '/etc/passwd', '/proc/self/environ', '/dev/stdin', '\\\\host\\share\\a.yaml', 'file:///a.yaml'],
]

test('a tool reads only regular files of at most 1 MiB below its folder', { tags: 'tools-for-models/3' }, async () => {
  const { cwd, outside, read } = folders()
  for (const path of [...readable, join(cwd, 'a.yaml'), join(cwd, 'up', 'work', 'a.yaml')])
    expect([path, await read(path)]).toMatchObject([path, { ok: true }])
  const hints = new Set<unknown>()
  for (const path of [...refused, join(outside, 'secret.yaml'), join(outside, 'missing.yaml')]) {
    const result = await read(path)
    expect([path, result]).toMatchObject([path, { code: 'FILE_UNREADABLE', message: `Tools cannot read ${path}.` }])
    hints.add(result.ok || result.hint)
  }
  // A different hint would reveal which files exist.
  expect(hints.size).toBe(1)
})

test('a tool reads files below a working folder that is the root of the file system', async () => {
  const { cwd } = folders()
  expect(await readAgentFile({ cwd: '/' } as Host, join(cwd, 'a.yaml'))).toMatchObject({ ok: true })
  expect(await readAgentFile({ cwd: '/' } as Host, '/dev/zero')).toMatchObject({ ok: false })
})

const credentialNames = [
  ...[...Object.values(credentialVariables), webhookSecretVariable, databaseUrlVariable, 'PGPASSWORD'],
  ...['AWS_SECRET_ACCESS_KEY', 'GH_TOKEN', 'GH_PAT', 'SHOP_KEY', 'MYSQL_PWD', 'DATABASE_URL', 'OAUTH2', 'Session_Id'],
  ...['VOUCHERCTL_STAGING_TOKEN', 'Voucherctl_Jwt', 'VOUCHERCTL_MY_KEY', 'voucherctl_database_url'],
  ...[
    ...[
      'PASS',
      'PASS2',
      'PGPASS',
      'PASSCODE',
      'PASSWD',
      'A_PASSPHRASE',
      'SEEDPHRASE',
      'DB_PWD',
      'DBPWD',
      'CRED',
      'CREDS',
    ],
    ...['OTP', 'SALT', 'PIN', 'BASIC_AUTH', 'COOKIE', 'COOKIES', 'SESSION', 'SESSIONID', 'HMAC', 'BEARER'],
    ...['TEST_DATABASE', 'PG_DSN', 'QR_PRIVATE_PEM', 'MNEMONIC', 'URL_SIGNATURE'],
  ].map((it) => `VOUCHERCTL_${it}`),
]

const credentialValues = [
  ...['sop_abcdefgh', 'Bearer x', 'a: Basic dTpw', 'ghp_16C7e42F292c', 'github_pat_11AB', 'AKIAIOSFODNN7EXAMPLE'],
  ...[
    'http://u:p@proxy:8080',
    'postgres://u:p@ss@db/x',
    'postgres://u:p/w@db/x',
    'https://tokenonly@h/',
    'u:p@proxy:80',
  ],
  ...['postgres://h/db?user=u&password=pw9q', 'https://h/?X-Amz-Signature=a', 'https://h/x?sv=1&sig=a%3D'],
  ...[
    'Server=h;User=u;Password=hunter2',
    'Server=h;Pwd=hunter2',
    'host=h pass = x',
    '{"apiKey":"x"}',
    String.raw`{\"apiKey\":\"x\"}`,
    'X-Api-Key: x',
  ],
  ...[
    '-----BEGIN PRIVATE KEY-----\nMC4',
    '-----BEGIN RSA PRIVATE KEY-----\\nMC4',
    'LS0tLS1CRUdJTiBQ',
    'xoxb-1234-5678',
  ],
]

const plainNames = [
  'BASE_URL',
  'TEMPLATE_ID',
  'PROFILE',
  'CODE',
  'SHOP',
  'PING',
  'AUTHOR',
  'PASSED',
  'PATH',
  'SESSIONS',
]
const plainValues = [
  ...['http://auth:8080/a:b', 'https://h/?page=2&spin=1', 'a@b.example', 'tpl_coffee', '2026-11-21T10:00:00.000Z'],
  ...['https://h/pins/1', 'sk-SK', 'Author: x', '-----BEGIN CERTIFICATE-----', 'git@h.example:a/b', 'Coffee, 2 for 1'],
]

test('isCredential recognises the names and values of credentials, and no plain setting', () => {
  for (const it of credentialNames) expect([it, isCredential(it)]).toEqual([it, true])
  for (const name of ['VOUCHERCTL_A', 'SHOP'])
    for (const it of credentialValues) expect([it, isCredential(name, it)]).toEqual([it, true])
  for (const it of ['PWD', 'OLDPWD', ...plainNames, ...plainNames.map((name) => `VOUCHERCTL_${name}`)])
    expect([it, isCredential(it, 'x')]).toEqual([it, false])
  for (const it of plainValues) expect([it, isCredential('VOUCHERCTL_A', it)]).toEqual([it, false])
})

test('scenarios of a tool get named variables and VOUCHERCTL_… variables, but no credential', () => {
  const hidden = ['PATH', 'GITHUB_TOKEN', 'XVOUCHERCTL_A', 'voucherctl_a']
  const valued = credentialValues.map((it, at) => [`VOUCHERCTL_${at}`, it] as const)
  const all = [...credentialNames, ...hidden, 'VOUCHERCTL_BASE_URL', 'SHOP']
  const env = Object.fromEntries([...all.map((it) => [it, 'x']), ...valued, ['SHOP_URL', 'https://u@h']])
  const named = ['SHOP', 'SHOP_URL', 'MISSING', ...credentialNames]
  expect(Object.keys(agentEnvironment(env, named)).sort()).toEqual(['SHOP', 'VOUCHERCTL_BASE_URL'])
})
