import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { unknownVariables } from '../../../src/cli/config/unknown-variables.js'
import { withoutSecrets } from '../../../src/cli/host/secrets.js'
import { cli, redeemCode, secrets, stub, success, temporaryDir } from '../../support/cli/cli.js'
import { homeWithConfig, homeWithProfiles, profileFile, storedProfiles } from '../../support/cli/profiles.js'
import { pageOf, token, verification } from '../../support/cli/samples.js'

async function explain(args: string, given: Parameters<typeof cli>[1]) {
  const ran = await cli(`profiles show --explain --json ${args}`, given)
  expect(ran.stderr).toBe('')
  const { items } = JSON.parse(ran.stdout) as { items: { setting: string; value: unknown; source: string }[] }
  return (setting: string) => {
    const { value, source } = items.find((it) => it.setting === setting) ?? { value: undefined, source: '' }
    return [value, source]
  }
}

test('a setting comes from flag, environment, profile or default, in this order', async () => {
  const profiles = { shop: { base_url: 'https://profile.example', timeout: '4s', retries: 4 } }
  const home = homeWithConfig({ current: 'shop', profiles })
  const stored = await explain('', { home })
  expect(stored('base_url')).toEqual(['https://profile.example', 'profile shop'])
  expect(stored('timeout')).toEqual(['4s', 'profile shop'])
  expect(stored('retries')).toEqual([4, 'profile shop'])
  const env = { VOUCHERCTL_BASE_URL: 'https://environment.example' }
  const source = 'environment VOUCHERCTL_BASE_URL'
  expect((await explain('', { home, env }))('base_url')).toEqual(['https://environment.example', source])
  const flagged = await explain('--base-url https://flag.example --timeout 1s', { home, env })
  expect(flagged('base_url')).toEqual(['https://flag.example', 'flag --base-url'])
  expect(flagged('timeout')).toEqual(['1s', 'flag --timeout'])
  expect((await explain('', {}))('retries')).toEqual([3, 'default'])
})

test('the profile comes from flag, environment or `profiles use`, in this order', async () => {
  const profiles = { a: { base_url: 'https://a' }, b: { base_url: 'https://b' }, c: { base_url: 'https://c' } }
  const home = homeWithConfig({ current: 'a', profiles })
  expect((await explain('', { home }))('profile')[0]).toBe('a')
  const env = { VOUCHERCTL_PROFILE: 'b' }
  expect((await explain('', { home, env }))('profile')[0]).toBe('b')
  expect((await explain('-p c', { home, env }))('profile')[0]).toBe('c')
})

/** Writes a voucherctl.json of invalid JSON, so that a command that reads it fails. */
function withOldProjectFile(dir: string): string {
  const path = join(dir, 'voucherctl.json')
  writeFileSync(path, '{"base_url":"http://127.0.0.1:1","output":"json","token":"sop_CANARY"')
  return path
}
const notRead = (path: string) =>
  `${path} is no longer read. Set VOUCHERCTL_BASE_URL or VOUCHERCTL_PROFILE in the environment instead, for example in an .envrc.`

test('a command warns once of a voucherctl.json and does not read it', async () => {
  const { baseUrl } = await stub(() => success(pageOf()))
  const home = homeWithProfiles({ default: { base_url: baseUrl } })
  const cwd = temporaryDir()
  const path = withOldProjectFile(cwd)
  const run = (args: string) => cli(args, { home, cwd, env: secrets })
  const warned = { exit: 0, stderr: `warning: ${notRead(path)}\n` }
  expect(await run('apps list')).toMatchObject(warned)
  const explained = await run('profiles show --explain --json')
  expect(explained).toMatchObject(warned)
  expect(explained.stdout).toContain(baseUrl)
  expect(await run('apps list -q')).toMatchObject({ exit: 0, stderr: '' })
  const failed = JSON.parse((await run('profiles use nope --json')).stderr)
  expect(failed.error.code).toBe('PROFILE_NOT_FOUND')
})

test('the hint of a command without a server names a voucherctl.json', async () => {
  const cwd = temporaryDir()
  const path = withOldProjectFile(cwd)
  const { exit, stderr } = await cli('apps list --json', { cwd, env: secrets })
  expect([exit, JSON.parse(stderr).error.hint]).toEqual([3, expect.stringContaining(` ${notRead(path)}`)])
})

test('a voucherctl.json is searched up to the repository root or the home folder', async () => {
  const outside = temporaryDir()
  const home = join(outside, 'home')
  const cwd = join(home, 'repository', 'src')
  mkdirSync(cwd, { recursive: true })
  const warning = async () => (await cli('profiles list', { home, cwd })).stderr
  withOldProjectFile(outside)
  expect(await warning()).toBe('')
  const ofHome = withOldProjectFile(home)
  expect(await warning()).toBe(`warning: ${notRead(ofHome)}\n`)
  mkdirSync(join(home, 'repository', '.git'))
  expect(await warning()).toBe('')
  const ofRepository = withOldProjectFile(dirname(cwd))
  expect(await warning()).toBe(`warning: ${notRead(ofRepository)}\n`)
})

test('a profile file may have members of earlier versions', async () => {
  const home = homeWithConfig({ current: 'a', profiles: { a: {} }, projects: { '/p': 5 } })
  expect(await cli('profiles set b --base-url https://b', { home })).toMatchObject({ exit: 0 })
  expect(Object.keys(storedProfiles(home))).toEqual(['a', 'b'])
})

test('VOUCHERCTL_OUTPUT sets the format of results and failures', async () => {
  const env = { VOUCHERCTL_OUTPUT: 'json' }
  expect(JSON.parse((await cli('profiles list', { env })).stdout)).toEqual({ items: [] })
  expect(JSON.parse((await cli('apps list', { env })).stderr).error.code).toBe('BASE_URL_REQUIRED')
})

test('the output format of a profile applies to usage errors but not to help', async () => {
  const profiles = { shop: { output: 'json' }, plain: {} }
  const home = homeWithConfig({ current: 'plain', profiles })
  const wrong = async (args: string, given: Parameters<typeof cli>[1] = {}) => {
    const ran = await cli(`apps lst ${args}`, { home, ...given })
    expect([ran.exit, ran.stdout]).toEqual([2, ''])
    return ran.stderr.startsWith('{') ? JSON.parse(ran.stderr).error.code : 'text'
  }
  expect(await wrong('')).toBe('text')
  expect(await wrong('-p shop')).toBe('USAGE')
  expect(await wrong('--profile=shop')).toBe('USAGE')
  expect(await wrong('--page zero -pshop')).toBe('USAGE')
  expect(await wrong('', { env: { VOUCHERCTL_PROFILE: 'shop' } })).toBe('USAGE')
  expect(await wrong('-p shop -o table')).toBe('text')
  expect((await cli('apps --help -p shop', { home })).stdout).not.toMatch(/^[[{]/)
})

test.each([
  '{',
  '[]',
  '{"profiles":[]}',
  '{"profiles":{"a":1}}',
  '{"profiles":{"default":{"credentials":"x"}}}',
  '{"profiles":{"default":{"credentials":null}}}',
  '{"profiles":{"default":{"credentials":{"jwt":"x"}}}}',
  '{"profiles":{"default":{"base_url":5}}}',
  '{"profiles":{"default":{"timeout":"soon"}}}',
  '{"profiles":{"default":{"retries":"3"}}}',
  '{"profiles":{"default":{"output":"xml"}}}',
])('a command exits 2 for a profile file that contains %s', async (content) => {
  const home = homeWithConfig({})
  writeFileSync(profileFile(home), content)
  expect((await cli('profiles list', { home })).exit).toBe(2)
})

test('a command that has neither a base URL nor a local server exits 3 and says how to get one', async () => {
  const { exit, stderr } = await cli('apps list', { env: secrets })
  expect(exit).toBe(3)
  expect(stderr).toMatch(/hint: .*voucherctl server start --detach.*--base-url/)
})

test('profiles commands write a profile file of mode 0600 in a folder of mode 0700', async () => {
  const home = temporaryDir()
  const run = (args: string) => cli(`profiles ${args} --json`, { home })
  expect(
    (
      await run(
        'set shop.eu --base-url https://shop.example/ --production on --codes reference --default-output yaml --default-timeout 5s --default-retries 1',
      )
    ).exit,
  ).toBe(0)
  expect(statSync(profileFile(home)).mode & 0o777).toBe(0o600)
  expect(statSync(join(profileFile(home), '..')).mode & 0o777).toBe(0o700)
  expect((await run('use nobody')).exit).toBe(5)
  expect((await run('use shop.eu')).exit).toBe(0)
  expect(JSON.parse((await run('show')).stdout)).toEqual({
    name: 'shop.eu',
    current: true,
    base_url: 'https://shop.example',
    data_dir: null,
    account: null,
    production: true,
    codes: 'reference',
    output: 'yaml',
    timeout: '5000ms',
    retries: 1,
    secure: null,
    credentials: {},
  })
  await run('set --production off --codes any --unset timeout')
  expect(JSON.parse((await run('show shop.eu')).stdout)).toMatchObject({
    production: false,
    codes: null,
    timeout: null,
  })
  expect(JSON.parse((await run('list')).stdout).items).toHaveLength(1)
  expect((await run('remove shop.eu --yes')).exit).toBe(0)
  expect(JSON.parse(readFileSync(profileFile(home), 'utf8'))).toEqual({ current: 'default', profiles: {} })
})

test('profiles set exits 2 for a profile name with a slash', async () => {
  expect((await cli(['profiles', 'set', '../x', '--production', 'on'])).exit).toBe(2)
})

const stored = (baseUrl: string, origin = baseUrl) =>
  homeWithProfiles({
    default: { base_url: baseUrl, credentials: { token: { value: secrets.VOUCHERCTL_TOKEN, origin } } },
  })
const verify = `vouchers verify --code ${redeemCode}`

test('a command sends a stored credential to the server that it was stored for', async () => {
  const { baseUrl, received } = await stub(() => success(verification))
  const ran = await cli(verify, { home: stored(baseUrl) })
  expect(ran.exit).toBe(0)
  expect(received[0]?.headers.authorization).toBe(`Bearer ${secrets.VOUCHERCTL_TOKEN}`)
})

test('a stored credential is not sent to a base URL of a flag or the environment', async () => {
  const { baseUrl, received } = await stub(() => success(verification))
  const home = stored('https://shop.example')
  for (const [args, given] of [
    [`${verify} --base-url ${baseUrl}`, {}],
    [verify, { env: { VOUCHERCTL_BASE_URL: baseUrl } }],
  ] as const) {
    const ran = await cli(args, { home, ...given })
    expect(ran.exit).toBe(3)
    expect(ran.stderr).toMatch(
      /hint: The one in profile default is for https:\/\/shop.example and is not sent to another server/,
    )
  }
  const moved = stored(baseUrl, 'https://shop.example')
  expect((await cli(verify, { home: moved })).exit).toBe(3)
  expect(received).toEqual([])
})

test('a command takes its credential from --token-file, environment or profile, in this order', async () => {
  const { baseUrl, received } = await stub(() => success(verification))
  const home = stored(baseUrl)
  const file = join(home, 'token')
  writeFileSync(file, 'sop_fromFile\r\n')
  const env = { VOUCHERCTL_TOKEN: 'sop_fromEnvironment' }
  await cli(`${verify} --token-file ${file}`, { home, env })
  await cli(`${verify} --token-file -`, { home, env, stdin: 'sop_fromStdin\n' })
  await cli(verify, { home, env })
  await cli(verify, { home })
  expect(received.map((it) => it.headers.authorization)).toEqual([
    'Bearer sop_fromFile',
    'Bearer sop_fromStdin',
    'Bearer sop_fromEnvironment',
    `Bearer ${secrets.VOUCHERCTL_TOKEN}`,
  ])
})

test.each([
  ['-', ''],
  ['-', 'two words'],
  ['-', 'two\nlines'],
  ['/nowhere/token', ''],
])(
  'a command exits 2 for the token file %s that contains %j and does not print this content',
  async (file, content) => {
    const { baseUrl, received } = await stub(() => success(verification))
    const ran = await cli(`${verify} --base-url ${baseUrl} --token-file ${file}`, { stdin: content })
    expect([ran.exit, ran.stdout, received.length]).toEqual([2, '', 0])
    expect(ran.stderr).not.toMatch(/two/)
  },
)

test('the profile setting codes=reference rejects mistyped redeem codes for a remote server', async () => {
  const home = homeWithProfiles({ default: { base_url: 'https://shop.example', codes: 'reference' } })
  const ran = await cli('vouchers verify --code M9S3-46Q3-D25V-T4FK --dry-run', { home, env: secrets })
  expect(ran.exit).toBe(2)
})

const production = (baseUrl: string) =>
  homeWithConfig({ current: 'p', profiles: { p: { base_url: baseUrl, production: true } } })
const revoke = 'tokens revoke tok_01 --app app_01'

test('tokens revoke with a production profile needs --yes or the token id', { tags: 'confirmations/1' }, async () => {
  const { baseUrl, received } = await stub(() => success({ ...token, status: 'revoked' }))
  const home = production(baseUrl)
  const refused = await cli(`${revoke} --json`, { home, env: secrets })
  expect([refused.exit, JSON.parse(refused.stderr).error.code]).toEqual([3, 'CONFIRMATION_REQUIRED'])
  expect(refused.stderr).toContain('--yes')
  const mistyped = await cli(revoke, { home, env: secrets, terminal: true, replies: ['tok_02'] })
  expect(mistyped.exit).toBe(3)
  expect(received).toEqual([])
  expect((await cli(revoke, { home, env: secrets, terminal: true, replies: ['tok_01'] })).exit).toBe(0)
  expect((await cli(`${revoke} --yes`, { home, env: secrets })).exit).toBe(0)
})

test('a command with a production profile prints a banner on a terminal only', async () => {
  const { baseUrl } = await stub(() => success(pageOf()))
  const home = production(baseUrl)
  expect((await cli('apps list', { home, env: secrets, terminal: true })).stderr).toContain('PRODUCTION profile p')
  expect((await cli('apps list', { home, env: secrets })).stderr).toBe('')
})

test('profiles set, run six times concurrently, loses no profile', async () => {
  const home = temporaryDir()
  const names = ['a', 'b', 'c', 'd', 'e', 'f']
  const set = (name: string) => cli(`profiles set ${name} --base-url https://${name}.example`, { home })
  expect((await Promise.all(names.map(set))).map((it) => it.exit)).toEqual(names.map(() => 0))
  expect(Object.keys(JSON.parse(readFileSync(profileFile(home), 'utf8')).profiles).sort()).toEqual(names)
})

test('profiles set removes the lock of an ended process and an old lock of another host', async () => {
  const home = homeWithConfig({ current: 'default', profiles: {} })
  const { pid } = spawnSync(process.execPath, ['-e', '0'])
  writeFileSync(`${profileFile(home)}.lock`, `${pid}@${hostname()}`)
  expect((await cli('profiles set a --base-url https://a', { home })).exit).toBe(0)
  writeFileSync(`${profileFile(home)}.lock`, '1@another machine')
  utimesSync(`${profileFile(home)}.lock`, 0, 0)
  expect((await cli('profiles set b --base-url https://b', { home })).exit).toBe(0)
  expect(existsSync(`${profileFile(home)}.lock`)).toBe(false)
})

test('profiles set keeps the permissions of an existing VOUCHERCTL_CONFIG_DIR', async () => {
  const dir = temporaryDir()
  chmodSync(dir, 0o755)
  const ran = await cli('profiles set a --base-url https://a', { env: { VOUCHERCTL_CONFIG_DIR: dir } })
  expect([ran.exit, statSync(dir).mode & 0o777]).toEqual([0, 0o755])
})

test.each(['flag', 'environment'])('a command exits 5 for a missing profile that the %s selects', async (by) => {
  const { baseUrl, received } = await stub(() => success(verification))
  const home = stored(baseUrl)
  const env = { ...secrets, ...(by === 'environment' ? { VOUCHERCTL_PROFILE: 'prdo' } : {}) }
  const flag = by === 'flag' ? ' -p prdo' : ''
  for (const args of [`${verify} --base-url ${baseUrl}`, 'whoami', 'platform reviews', 'logout', 'profiles show']) {
    expect([args, (await cli(args + flag, { home, env })).exit]).toEqual([args, 5])
  }
  expect(received).toEqual([])
  expect((await cli(`profiles set prdo --base-url ${baseUrl}${flag}`, { home, env })).exit).toBe(0)
})

test('login -p NAME creates a missing profile', async () => {
  const { baseUrl } = await stub(() => success(pageOf()))
  const home = temporaryDir()
  const given = { home, stdin: secrets.VOUCHERCTL_TOKEN }
  expect((await cli(`login --with-token - -p new --base-url ${baseUrl}`, given)).exit).toBe(0)
})

test('a command with several API calls reads its token file once', async () => {
  const { baseUrl, received } = await stub(() => success(pageOf()))
  const home = temporaryDir()
  let reads = 0
  const stdin = () => ((reads += 1) === 1 ? secrets.VOUCHERCTL_TOKEN : '')
  const ran = await cli(`whoami --token-file - --base-url ${baseUrl}`, {
    home,
    get stdin() {
      return stdin()
    },
  })
  expect([ran.exit, reads, received.length]).toEqual([0, 1, 1])
})

test('withoutSecrets() removes credentials from the environment for a detached server', () => {
  const env = { ...secrets, VOUCHERCTL_CONFIG_DIR: '/c', PATH: '/bin' }
  expect(withoutSecrets(env)).toEqual({ VOUCHERCTL_CONFIG_DIR: '/c', PATH: '/bin' })
})

test('server start --key-file - exits 2, because the key file must be a path', async () => {
  const ran = await cli('server start --memory --port 0 --key-file -')
  expect([ran.exit, ran.stderr.includes('--key-file must be a path')]).toEqual([2, true])
})

test('a command warns about a profile file or folder that others can access and suggests chmod', async () => {
  const home = homeWithConfig({ current: 'a', profiles: { a: {} } })
  const dir = dirname(profileFile(home))
  const stderr = async (args: string) => (await cli(args, { home })).stderr
  chmodSync(dir, 0o755)
  expect(await stderr('profiles list')).toBe('')
  for (const bits of [0o604, 0o640, 0o620]) {
    chmodSync(profileFile(home), bits)
    expect(await stderr('profiles list --json')).toBe(
      `warning: Other users of this machine have access to ${profileFile(home)}. Close it: chmod 600 ${profileFile(home)}\n`,
    )
  }
  expect(JSON.parse(await stderr('profiles use nope --json')).error.code).toBe('PROFILE_NOT_FOUND')
  expect(await stderr('profiles list -q')).toBe('')
  chmodSync(profileFile(home), 0o600)
  chmodSync(dir, 0o770)
  expect(await stderr('profiles list')).toContain(`can write to ${dir}. Close it: chmod 700 ${dir}\n`)
})

test('profiles show --explain prints the source of each setting and credential prefixes only', async () => {
  const home = stored('https://shop.example')
  const file = join(home, 'jwt')
  writeFileSync(file, secrets.VOUCHERCTL_JWT)
  const env = {
    VOUCHERCTL_BOT_TOKEN: secrets.VOUCHERCTL_BOT_TOKEN,
    VOUCHERCTL_WEBHOOK_SECRET: 'w'.repeat(9),
    TERM: 'dumb',
  }
  const at = await explain('', { home, env })
  expect(at('application token')).toEqual(['sop_CANA…', 'profile default'])
  expect(at('bot token')).toEqual(['sbot_CAN…', 'environment VOUCHERCTL_BOT_TOKEN'])
  expect(at('account JWT')).toEqual([null, 'nowhere'])
  expect(at('webhook secret')).toEqual(['…', 'environment VOUCHERCTL_WEBHOOK_SECRET'])
  expect(at('color')).toEqual(['off', 'environment TERM'])
  expect(at('production')).toEqual([false, 'default'])
  const flagged = await explain(`--token-file ${file} --no-color`, { home, env })
  expect(flagged('account JWT')).toEqual(['eyJ…', 'flag --token-file'])
  expect(flagged('bot token')).toEqual([null, 'nowhere'])
  expect(flagged('color')).toEqual(['off', 'flag --no-color'])
  const elsewhere = await explain('--base-url https://other.example', { home })
  expect(elsewhere('application token')).toEqual([
    null,
    'profile default has one for https://shop.example, not for this server',
  ])
})

test('bots regenerate-token and secure call ask for confirmation with a production profile', async () => {
  const { baseUrl, received } = await stub(() => success({}))
  const home = production(baseUrl)
  const path = '/api/v1/open-platform/applications/app_01/tokens/tok_01'
  for (const args of ['bots regenerate-token bot_01', `secure call DELETE ${path}`]) {
    const { exit, stderr } = await cli(`${args} --json`, { home, env: secrets })
    expect([args, exit, JSON.parse(stderr).error.code]).toEqual([args, 3, 'CONFIRMATION_REQUIRED'])
  }
  const typed = await cli(`secure call DELETE ${path}`, { home, env: secrets, terminal: true, replies: ['tok_02'] })
  expect([typed.exit, typed.asked]).toEqual([3, ['Revoking tok_01: type tok_01 to confirm']])
  expect(received).toEqual([])
})

test('the banner of a production profile is printed once, before the confirmation', async () => {
  const { baseUrl } = await stub(() => success({ ...token, status: 'revoked' }))
  const home = production(baseUrl)
  const shown: string[] = []
  const onStderr = (text: string) => shown.push(text)
  const ran = await cli(revoke, { home, env: secrets, terminal: true, replies: ['tok_02'], onStderr })
  expect([ran.exit, shown[0]]).toEqual([3, `PRODUCTION profile p: ${baseUrl}\n`])
  const { stderr } = await cli('whoami', { home, env: secrets, terminal: true })
  expect(stderr.match(/PRODUCTION/g)).toHaveLength(1)
})

describe('an unusable VOUCHERCTL_BASE_URL', () => {
  test.each(['null', ''])('with the value "%s" is refused by name', async (value) => {
    for (const line of ['apps list', 'server start --memory', 'server status', 'server keys list', 'profiles show']) {
      const { exit, stderr } = await cli(`${line} --json`, { env: { VOUCHERCTL_BASE_URL: value } })
      const { message, hint } = JSON.parse(stderr).error
      expect([line, exit, hint]).toEqual([line, 2, 'To remove it: `unset VOUCHERCTL_BASE_URL`.'])
      expect(message).toContain(`from environment VOUCHERCTL_BASE_URL is ${value === '' ? 'empty' : 'invalid'}.`)
    }
  })

  test.each(['null', ''])('with the value "%s" does not stop commands that need no base URL', async (value) => {
    const exits = { 'server list': 0, 'server stop': 0, 'server status --data shop': 1, 'apps list --base-url URL': 0 }
    const { baseUrl } = await stub(() => success(pageOf()))
    for (const [line, expected] of Object.entries(exits)) {
      const env = { VOUCHERCTL_BASE_URL: value, VOUCHERCTL_JWT: secrets.VOUCHERCTL_JWT }
      const { exit, stderr } = await cli(line.replace('URL', baseUrl), { env })
      expect([line, exit, stderr]).toEqual([line, expected, ''])
    }
  })
})

describe('an unknown variable that begins with VOUCHERCTL_', () => {
  const mistyped = 'VOUCHERCTL_BASEURL is not a variable that voucherctl reads. Did you mean VOUCHERCTL_BASE_URL?'

  test('is named once, with the variable that was meant, after a success and in a failure', async () => {
    const env = { VOUCHERCTL_BASEURL: 'https://shop.example' }
    const done = await cli('profiles list', { env })
    expect([done.exit, done.stderr]).toEqual([0, `warning: ${mistyped}\n`])
    const failed = await cli('apps list --json', { env })
    expect(failed.exit).toBe(3)
    expect(JSON.parse(failed.stderr).error.hint.split(mistyped)).toHaveLength(2)
  })

  test('is named without a suggestion if it resembles none, but not for scenarios', async () => {
    const env = { VOUCHERCTL_MY_SHOP: 'eu' }
    const done = await cli('profiles list', { env })
    expect(done.stderr).toBe(
      'warning: VOUCHERCTL_MY_SHOP is not a variable that voucherctl reads. `voucherctl help environment` lists them.\n',
    )
    expect((await cli('scenario init --dry-run', { env })).stderr).toBe('')
  })

  test('is none of those that help environment lists', async () => {
    const { stdout } = await cli('help environment --json')
    const names = [...new Set(stdout.match(/VOUCHERCTL_[A-Z_]+/g))].filter((it) => it !== 'VOUCHERCTL_BASE_URL')
    expect(names.length).toBeGreaterThan(10)
    for (const name of names) expect(unknownVariables({ env: { [name]: 'on' } })).toEqual([])
  })
})
