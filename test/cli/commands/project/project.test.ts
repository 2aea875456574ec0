import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { expect, test } from 'vitest'
import { processStart } from '../../../../src/files/process-alive.js'
import { built } from '../../../support/cli/built-cli.js'
import { cli, secrets, stub, success, temporaryDir } from '../../../support/cli/cli.js'
import { patient } from '../../../support/cli/completion.js'
import { matrix } from '../../../support/cli/matrix.js'
import { pageOf, verification } from '../../../support/cli/samples.js'

const isRoot = process.geteuid?.() === 0
const NOBODY = 65_534
/** Whether the user has a private group, which may write to project files; tests as root cover shared groups. */
const hasPrivateGroup = !isRoot && process.geteuid?.() === process.getegid?.()

const config = (home: string) => join(home, '.config', 'voucherctl', 'config.json')

function withConfig(home: string, content: unknown): string {
  mkdirSync(join(home, '.config', 'voucherctl'), { recursive: true, mode: 0o700 })
  writeFileSync(config(home), JSON.stringify(content), { mode: 0o600 })
  return home
}

function withProject(dir: string, content: unknown, mode = 0o600): string {
  const path = join(dir, 'voucherctl.json')
  writeFileSync(path, JSON.stringify(content), { mode })
  chmodSync(path, mode)
  return path
}

/** Writes server.json of the default data folder, as a server does that runs in this process. */
function withLocalServer(home: string, baseUrl: string, start = processStart(process.pid)): void {
  const dir = join(home, '.local', 'share', 'voucherctl')
  mkdirSync(dir, { recursive: true })
  const server = { instance_id: 'one', pid: process.pid, base_url: baseUrl, data_dir: dir, operator_key_file: null }
  const more = { store: 'sqlite', started_at: '2026-11-21T10:00:00.000Z', process_start: start ?? null }
  writeFileSync(join(dir, 'server.json'), JSON.stringify({ ...server, ...more }))
}

/** A folder that other users cannot write to, independent of the umask. */
function ownFolder(): string {
  const dir = temporaryDir()
  chmodSync(dir, 0o755)
  return dir
}

async function reasonOf(home: string, cwd = home) {
  const { stdout } = await cli('project show --json', { home, cwd })
  const { path, reason, passed_over } = JSON.parse(stdout) as {
    path: string | null
    reason: string
    passed_over: { path: string; why: string }[]
  }
  return { path, reason, passedOver: passed_over }
}

/** Runs the command that a shell runs when the user presses Tab. */
const pressTab = (line: string, home: string) =>
  built.run(['__complete', 'bash', `voucherctl ${line}`, ' '], home, { ...secrets, ...patient })

/** All commands that call the chosen server; the receiver of `webhook trigger` is named by a flag. */
const calling = Object.entries(matrix).filter(
  ([path, { local }]) => local !== true && !/^(webhook trigger|server logs|scenario)/.test(path),
)

test.each(calling)('the command %s sends nothing to a server that only the project file names', async (path, row) => {
  const { baseUrl, received } = await stub(() => success(pageOf()))
  const home = ownFolder()
  for (const [name, text] of Object.entries(row.files ?? {})) writeFileSync(join(home, name), text)
  withProject(home, { base_url: baseUrl })
  const profile = { credentials: { operator: { value: 'opk_CANARY', origin: baseUrl } } }
  withConfig(home, { current: 'default', profiles: { default: profile } })
  const args = `${path} ${row.args.replaceAll('{url}', 'http://127.0.0.1:1').replaceAll('{home}', home)}`
  const env = { ...secrets, VOUCHERCTL_WEBHOOK_SECRET: 'whsec_0123456789abcdef0123456789abcdef' }
  const given = { home, cwd: home, env, ...(row.stdin === undefined ? {} : { stdin: row.stdin }) }
  const ran = await cli(`${args} --json --retries 0`, given)
  expect([ran.exit, received]).toEqual([3, []])
  expect(JSON.parse(ran.stderr).error).toMatchObject({
    code: 'PROJECT_NOT_ALLOWED',
    hint: expect.stringContaining('`voucherctl project allow`'),
  })
})

test('commands and completion send nothing to a server that only the project file names', async () => {
  const { baseUrl, received } = await stub(() => success(pageOf()))
  const home = ownFolder()
  withProject(home, { base_url: baseUrl })
  writeFileSync(join(home, 'token'), secrets.VOUCHERCTL_TOKEN, { mode: 0o600 })
  writeFileSync(join(home, 'rows.csv'), 'external_issue_id,recipient_user_id\no-1,user-1\n')
  for (const [args, exit] of [
    ['templates list --token-file token', 3],
    ['apps list --dry-run', 3],
    ['platform reviews', 3],
    ['whoami', 3],
    ['login --with-token token', 3],
    ['api GET /open-platform/applications --curl', 3],
    ['secure call GET /api/v1/open-platform/applications', 3],
    ['secure pin --save', 3],
    ['vouchers issue-many rows.csv --template tpl_01 --out codes.csv', 3],
    ['bots updates --follow', 3],
    ['platform activity --follow', 3],
    ['webhook trigger ping --bot bot_1', 3],
    ['login --local --account me', 3],
    ['open --no-browser', 3],
    ['doctor', 1],
    ['profiles show --explain', 0],
  ] as const) {
    const ran = await cli(`${args} --json`, { home, env: secrets })
    expect([args, ran.exit, received]).toEqual([args, exit, []])
    expect(ran.stdout + ran.stderr).toContain('voucherctl project allow')
  }
  for (const args of [
    'server status',
    'server stop',
    'server logs',
    'server logs --follow',
    'server env',
    'server list',
  ])
    expect([args, (await cli(args, { home, env: secrets })).exit, received]).toEqual([args, expect.any(Number), []])
  const { exit, stdout } = await built.run(['templates', 'list'], home, secrets)
  expect([exit, stdout]).toEqual([3, ''])
  expect((await pressTab('templates submit ', home)).stdout).toBe('words\n')
  expect(received).toEqual([])
})

test('project allow permits the server of a project file until project deny or a file change', async () => {
  const { baseUrl, received } = await stub(() => success(pageOf()))
  const home = ownFolder()
  const path = withProject(home, { base_url: baseUrl })
  const list = async () => (await cli('templates list', { home, env: secrets })).exit

  expect((await cli('project allow --dry-run', { home })).exit).toBe(0)
  expect([await list(), received]).toEqual([3, []])
  const allowed = JSON.parse((await cli('project allow --json', { home })).stdout)
  expect(allowed).toMatchObject({ path, allowed: true, reason: 'allowed', content: { base_url: baseUrl } })
  expect(JSON.parse(readFileSync(config(home), 'utf8')).projects).toEqual({ [path]: readFileSync(path, 'utf8') })
  expect(await list()).toBe(0)
  await pressTab('templates submit ', home)
  expect(received.map((it) => it.headers.authorization)).toEqual(
    Array.from({ length: 2 }, () => `Bearer ${secrets.VOUCHERCTL_TOKEN}`),
  )

  withProject(home, { base_url: baseUrl, timeout: '20s' })
  expect(await reasonOf(home)).toMatchObject({ reason: 'changed since' })
  expect(await list()).toBe(3)
  withProject(home, { base_url: baseUrl })
  expect(await list()).toBe(0)
  expect((await cli('project deny', { home })).exit).toBe(0)
  expect([await list(), received.length]).toEqual([3, 3])
})

test('project allow permits one path: a file with the same content in another folder is refused', async () => {
  const home = ownFolder()
  const [one, other] = ['one', 'other'].map((name) => join(home, name)) as [string, string]
  for (const dir of [one, other]) {
    mkdirSync(dir)
    withProject(dir, { base_url: 'https://vouchers.example' })
  }
  await cli('project allow', { home, cwd: one })
  expect([(await reasonOf(home, one)).reason, (await reasonOf(home, other)).reason]).toEqual(['allowed', 'not allowed'])
})

test('profiles remove keeps the permissions that project allow has stored', async () => {
  const home = withConfig(ownFolder(), { current: 'default', profiles: { shop: {} }, projects: { '/p': '{}' } })
  await cli('profiles remove shop --yes', { home })
  expect(JSON.parse(readFileSync(config(home), 'utf8')).projects).toEqual({ '/p': '{}' })
})

test('a project file that selects a profile needs no permission for the server of that profile', async () => {
  const { baseUrl, received } = await stub(() => success(verification))
  const origin = baseUrl
  const shop = { base_url: origin, credentials: { token: { value: 'sop_stored', origin } } }
  const home = withConfig(ownFolder(), { current: 'default', profiles: { default: {}, shop } })
  withProject(home, { profile: 'shop', base_url: `${origin}/` })
  expect((await cli('vouchers verify --qr-token t', { home })).exit).toBe(0)
  withProject(home, { profile: 'shop', base_url: origin.replace('http:', 'https:') })
  expect((await cli('vouchers verify --qr-token t', { home })).exit).toBe(3)
  expect(received.map((it) => it.headers.authorization)).toEqual(['Bearer sop_stored'])
})

test('a project file may name a running server of the user until that server ends', async () => {
  const { baseUrl, received } = await stub(() => success(pageOf()))
  const home = ownFolder()
  withProject(home, { base_url: `${baseUrl}/` })
  const list = async () => (await cli('templates list', { home, env: secrets })).exit
  withLocalServer(home, baseUrl)
  expect((await reasonOf(home)).reason).toBe('local server')
  expect([await list(), received.length]).toEqual([0, 1])
  await pressTab('templates submit ', home)
  expect(received.length).toBe(2)
  // Another process has the id of the server now, and a stranger may listen on its port.
  withLocalServer(home, baseUrl, 'boot 0')
  expect([await list(), (await pressTab('templates submit ', home)).stdout]).toEqual([3, 'words\n'])
  expect(received.length).toBe(2)
})

test('a project file may not name another loopback address than that of the running server', async () => {
  const { baseUrl, received } = await stub(() => success(pageOf()))
  const { port } = new URL(baseUrl)
  const home = ownFolder()
  withLocalServer(home, `http://127.0.0.2:${port}`)
  for (const url of [baseUrl, `http://localhost:${port}`]) {
    withProject(home, { base_url: url })
    expect((await cli('templates list', { home, env: secrets })).exit).toBe(3)
  }
  expect(received).toEqual([])
})

test.each([
  ['http://127.0.0.1:8420', 'local server'],
  ['http://127.1:8420/gateway', 'local server'],
  ['http://127.0.0.1:8421', 'not allowed'],
  ['https://127.0.0.1:8420', 'not allowed'],
  ['http://127.0.0.2:8420', 'not allowed'],
  ['http://localhost:8420', 'not allowed'],
  ['http://[::1]:8420', 'not allowed'],
  ['http://127.0.0.1.evil.example', 'not allowed'],
  ['http://localhost.evil.example', 'not allowed'],
  ['http://localhost.', 'not allowed'],
  ['http://evil.example/127.0.0.1', 'not allowed'],
  ['http://[::ffff:127.0.0.1]', 'not allowed'],
  ['http://0.0.0.0:8420', 'not allowed'],
  ['http://127-0-0-1.example', 'not allowed'],
])('project show reports the base URL %s of a project file as "%s"', async (url, reason) => {
  const home = ownFolder()
  withLocalServer(home, 'http://127.0.0.1:8420')
  withProject(home, { base_url: url })
  expect((await reasonOf(home)).reason).toBe(reason)
})

test('a command exits 2 for a project file whose base URL hides its host behind a user name', async () => {
  const home = ownFolder()
  withProject(home, { base_url: 'http://localhost:8420@evil.example' })
  expect((await cli('templates list', { home, env: secrets })).exit).toBe(2)
})

test('commands ignore a project file above the repository root or the home folder', async () => {
  const outside = ownFolder()
  withProject(outside, { timeout: '3s' })
  const home = join(outside, 'home')
  const repository = join(home, 'repository')
  const inside = join(repository, 'src')
  mkdirSync(inside, { recursive: true, mode: 0o755 })
  expect((await reasonOf(home, inside)).path).toBeNull()
  const ofHome = withProject(home, { timeout: '4s' })
  expect((await reasonOf(home, inside)).path).toBe(ofHome)
  mkdirSync(join(repository, '.git'))
  expect((await reasonOf(home, inside)).path).toBeNull()
  const own = withProject(repository, { timeout: '5s' })
  expect((await reasonOf(home, inside)).path).toBe(own)
})

test('commands skip a project file with a warning if others can write to the file or its folder', async () => {
  const home = ownFolder()
  for (const [folder, mode] of [
    [0o755, 0o602],
    [0o755, 0o620],
    [0o1777, 0o600],
    [0o775, 0o600],
  ] as const) {
    if (hasPrivateGroup && (folder === 0o775 || mode === 0o620)) continue
    chmodSync(home, folder)
    const path = withProject(home, { base_url: 'http://127.0.0.1:1' }, mode)
    const { path: found, passedOver } = await reasonOf(home)
    expect([folder, mode, found, passedOver.map((it) => it.path)]).toEqual([folder, mode, null, [path]])
    const { stderr } = await cli('profiles list', { home })
    expect(stderr).toMatch(/^warning: .*voucherctl\.json was ignored: Other users .* chmod go-w \//)
    const without = await cli('apps list', { home, env: secrets })
    expect([without.exit, without.stderr]).toEqual([3, expect.stringContaining('was ignored')])
  }
})

test.runIf(isRoot)('commands use a group-writable project file only if the group is private to the owner', async () => {
  const home = ownFolder()
  const path = withProject(home, { base_url: 'http://127.0.0.1:1' })
  const findAs = async (user: number, group: number, gid: number, folder = 0o775, file = 0o664) => {
    for (const it of [home, path]) chownSync(it, user, gid)
    chmodSync(home, folder)
    chmodSync(path, file)
    process.setegid?.(group)
    process.seteuid?.(user)
    try {
      return (await reasonOf(home)).path
    } finally {
      process.seteuid?.(0)
      process.setegid?.(0)
    }
  }
  expect(await findAs(12_345, 12_345, 12_345)).toBe(path)
  expect(await findAs(12_345, 12_345, 12_345, 0o775, 0o666)).toBeNull()
  expect(await findAs(12_345, 12_345, 12_345, 0o777)).toBeNull()
  expect(await findAs(12_345, 12_345, 100)).toBeNull()
  expect(await findAs(12_345, 100, 12_345)).toBeNull()
  expect(await findAs(12_345, 100, 100)).toBeNull()
  expect(await findAs(0, 0, 0)).toBeNull()
})

test.runIf(isRoot)('commands skip a project file or a link target that belongs to another user', async () => {
  const home = ownFolder()
  const path = withProject(home, { base_url: 'http://127.0.0.1:1', token: 'x' })
  chownSync(path, NOBODY, NOBODY)
  expect(await reasonOf(home)).toMatchObject({ path: null, passedOver: [{ path }] })

  const folder = join(home, 'folder')
  mkdirSync(folder)
  symlinkSync(path, join(folder, 'voucherctl.json'))
  expect((await reasonOf(home, folder)).passedOver.map((it) => it.path)).toEqual([
    join(folder, 'voucherctl.json'),
    path,
  ])

  const theirs = join(home, 'theirs')
  mkdirSync(theirs)
  withProject(theirs, { base_url: 'http://127.0.0.1:1' })
  chownSync(theirs, NOBODY, NOBODY)
  expect((await reasonOf(home, theirs)).path).toBeNull()
})

test.skipIf(process.platform === 'win32')(
  'commands refuse a named pipe in place of the project file without blocking',
  async () => {
    const home = ownFolder()
    expect(spawnSync('mkfifo', ['-m', '600', join(home, 'voucherctl.json')]).status).toBe(0)
    expect(await cli('profiles list', { home })).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining('is not a file'),
    })
  },
)

test.skipIf(process.platform === 'win32')(
  'a command exits 2 with ELOOP for a project file that links to itself',
  async () => {
    const home = ownFolder()
    const path = join(home, 'voucherctl.json')
    symlinkSync(path, path)
    const { exit, stderr } = await cli('profiles list', { home })
    expect([exit, stderr]).toEqual([2, expect.stringContaining(`${path} cannot be read (ELOOP).`)])
  },
)

test('a profile selected by a project file keeps the stricter settings of the current profile', async () => {
  const pin = `sha256:${'A'.repeat(43)}`
  const strict = { mode: 'required', pins: [pin], latched: ['https://shop.example'] }
  const profiles = {
    strict: { base_url: 'https://shop.example', production: true, secure: strict },
    lax: { base_url: 'https://shop.example/gateway', secure: { mode: 'auto', pins: [] } },
    other: { base_url: 'https://other.example' },
  }
  const home = withConfig(ownFolder(), { current: 'strict', profiles })
  const settings = async (args = '') => {
    const { items } = JSON.parse((await cli(`profiles show --explain --json ${args}`, { home })).stdout) as {
      items: { setting: string; value: unknown; source: string }[]
    }
    return ['secure.mode', 'secure.pins', 'secure.latched', 'production'].map((name) => {
      const { value, source } = items.find((it) => it.setting === name) ?? { value: null, source: '' }
      return [value, source.split(',')[0]]
    })
  }
  const path = withProject(home, { profile: 'lax', secure: { mode: 'off' } })
  const kept = [
    ['required', 'profile strict'],
    [[pin], 'profile strict'],
    [['https://shop.example'], 'profile strict'],
    [true, 'profile strict'],
  ]
  expect(await settings()).toEqual(kept)
  expect(await settings('-p lax')).toEqual([
    ['auto', 'profile lax'],
    [[], 'profile lax'],
    [[], 'default'],
    [false, 'default'],
  ])
  withProject(home, { profile: 'other' })
  expect((await settings())[0]).toEqual(['off', 'default'])
  withProject(home, { profile: 'lax', secure: { mode: 'required' } })
  withConfig(home, { current: 'lax', profiles: { ...profiles, strict: { secure: {} } } })
  expect((await settings())[0]).toEqual(['required', `project file ${path}`])
})
