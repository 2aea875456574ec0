import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { built } from '../support/cli/built-cli.js'
import { cli, secrets, stub, success } from '../support/cli/cli.js'
import { homeWithProfiles, profileFile, storedProfiles } from '../support/cli/profiles.js'
import { app, pageOf, token } from '../support/cli/samples.js'

const sop = 'sop_old0123456789abcdef0123456789'
const newToken = 'sop_new0123456789abcdef0123456789'

/** Destructive commands, each with the warning that its confirmation prompt must contain. */
const destructive: [line: string, warning: RegExp][] = [
  [
    'profiles remove default',
    /settings for .* are lost. Nobody can show again .*: the application token sop_old0… for/,
  ],
  ['logout', /Nobody can show again .*: the application token sop_old0… for/],
  [
    'tokens create --app app_01 --scope vouchers:read --save',
    /Nobody can show again .*: the application token sop_old0… for/,
  ],
  ['tokens revoke tok_01 --app app_01', /Every client that uses this token is refused/],
  ['webhook inbox clear', /Every recorded delivery of .* is lost/],
  ['bots regenerate-token bot_01', /Every client that uses the current token is refused/],
  ['webhook delete bot_01', /its URL and its secret are forgotten/],
  ['apps unlink-bot app_01 --bot bot_01', /The bot can no longer issue vouchers of the application/],
  ['api DELETE /open-platform/applications/app_01/tokens/tok_01', /Every client that uses this token is refused/],
  ['server keys rotate', /Clients that pin the current key alone are refused. Valid pins then: /],
  ['api POST /_platform/v1/secure/keys/rotate', /Clients that pin the current key alone are refused/],
  ['platform reset', /lost/],
  ['platform snapshots restore old', /lost/],
  ['platform snapshots remove old', /The state that it holds is lost/],
  ['platform snapshots save old', /The state that it holds is lost/],
  ['login --with-token new.txt', /Nobody can show again .*: the application token sop_old0… for/],
]

const responses: Record<string, unknown> = {
  DELETE: { ...app, ...token },
  GET: pageOf({ name: 'old' }),
  PUT: token,
  POST: {
    ...token,
    token: newToken,
    bot_id: 'bot_01',
    one_time_token: 'sbot_new',
    token_prefix: 'sbot_new',
    items: [],
  },
}

async function shop() {
  const { baseUrl, received } = await stub(({ method }) => success(responses[method]))
  const stored = { base_url: baseUrl, credentials: { token: { value: sop, origin: baseUrl } } }
  const home = homeWithProfiles({ default: stored })
  const inbox = join(home, '.local', 'share', 'voucherctl', 'inbox')
  mkdirSync(inbox, { recursive: true })
  writeFileSync(join(home, 'new.txt'), newToken, { mode: 0o600 })
  const before = readFileSync(profileFile(home), 'utf8')
  const { VOUCHERCTL_JWT, VOUCHERCTL_OPERATOR_KEY } = secrets
  const env = { VOUCHERCTL_JWT, VOUCHERCTL_OPERATOR_KEY }
  const changing = () => received.filter((it) => it.method !== 'GET').length
  const isKept = () => readFileSync(profileFile(home), 'utf8') === before && changing() === 0
  return { given: { home, env }, isKept, received }
}

test.each(destructive)(
  'the command %s without a terminal exits 3 and prints the same command with --yes',
  { tags: ['confirmations/1', 'confirmations/2'] },
  async (line, warning) => {
    const { given, isKept } = await shop()
    const ran = await cli(`${line} --json --timeout 10s`, given)
    const { code, message, hint } = JSON.parse(ran.stderr).error
    expect([ran.exit, ran.stdout, code, isKept()]).toEqual([3, '', 'CONFIRMATION_REQUIRED', true])
    expect(message).toMatch(warning)
    // A user can run the suggested command as printed.
    const [, command = ''] = /`voucherctl (.*)`/.exec(hint) ?? []
    expect(command).toMatch(/--timeout 10000ms|--timeout 10s/)
    expect((await cli(command, given)).exit).toBe(0)
  },
)

test.each(destructive)(
  'the command %s asks for confirmation on a terminal; nothing changes if the user declines',
  { tags: ['confirmations/1', 'confirmations/2'] },
  async (line, warning) => {
    const { given, isKept } = await shop()
    const no = await cli(line, { ...given, terminal: true, replies: [false] })
    expect([no.exit, no.asked.length, isKept()]).toEqual([3, 1, true])
    expect(no.stderr).toMatch(warning)
    const yes = await cli(line, { ...given, terminal: true, replies: [true] })
    expect([yes.exit, yes.asked.length]).toEqual([0, 1])
  },
)

test.each(destructive.filter(([line]) => !line.startsWith('login')))(
  'command %s does not ask for confirmation in a dry run',
  { tags: 'confirmations/1' },
  async (line) => {
    const { given, isKept } = await shop()
    const ran = await cli(`${line} --dry-run`, { ...given, terminal: true })
    expect([ran.exit, ran.asked, isKept()]).toEqual([0, [], true])
  },
)

test('platform reset and restore send shared only with --yes', { tags: 'snapshots/6' }, async () => {
  const { given, received } = await shop()
  for (const line of ['platform reset', 'platform snapshots restore old'])
    for (const flag of ['', '--yes']) await cli(`${line} ${flag}`, { ...given, terminal: true, replies: [true] })
  const bodies = received.flatMap(({ method, body }) => (method === 'POST' ? [body] : []))
  expect(bodies).toEqual([null, { shared: true }, null, { shared: true }])
})

test('profiles remove in a separate process removes a profile only with --yes', async () => {
  const home = homeWithProfiles({ default: {}, shop: {} })
  const refused = await built.run(['profile', 'remove', 'shop'], home)
  expect([refused.exit, Object.keys(storedProfiles(home))]).toEqual([3, ['default', 'shop']])
  expect(refused.stderr).toContain('`voucherctl profiles remove shop --yes`')
  expect((await built.run(['profile', 'remove', 'shop', '--yes'], home)).exit).toBe(0)
  expect(Object.keys(storedProfiles(home))).toEqual(['default'])
})

test('the suggested --yes command is quoted for a shell and keeps values that begin with a dash', async () => {
  const home = homeWithProfiles({ default: {} })
  mkdirSync(join(home, 'my inbox'))
  const line = ['webhook', 'inbox', 'clear', '--inbox', 'my inbox', '--fields=-x', '-q']
  const { stderr } = await cli(line, { home })
  expect(stderr).toContain("`voucherctl webhook inbox clear --inbox 'my inbox' --fields=-x --quiet --yes`")
})

test('login asks to confirm only if it moves a profile to another machine', { tags: 'confirmations/2' }, async () => {
  const { baseUrl } = await stub(() => success(pageOf()))
  const jwt = { value: 'eyJold.a.b', origin: 'http://127.0.0.1:1' }
  const given = (base_url: string) => {
    const home = homeWithProfiles({ default: { base_url, credentials: { jwt } } })
    return { home, stdin: secrets.VOUCHERCTL_JWT }
  }
  const line = `login --with-token - --base-url ${baseUrl}`
  expect((await cli(line, given('http://127.0.0.1:1'))).exit).toBe(0)
  const remote = given('https://vouchers.example')
  const refused = await cli(line, remote)
  expect([refused.exit, storedProfiles(remote.home).default.base_url]).toEqual([3, 'https://vouchers.example'])
  expect(refused.stderr).toMatch(/Profile default is for https:\/\/vouchers\.example now\..* -p NAME/)
  expect((await cli(`${line} --yes`, remote)).exit).toBe(0)
})

test('tokens create --save asks for no confirmation if the profile has no token', async () => {
  const { baseUrl } = await stub(() => success({ ...token, token: newToken }))
  const home = homeWithProfiles({ default: { base_url: baseUrl } })
  const line = 'tokens create --app app_01 --scope vouchers:read --save'
  expect((await cli(line, { home, env: { VOUCHERCTL_JWT: secrets.VOUCHERCTL_JWT } })).exit).toBe(0)
  expect(storedProfiles(home).default.credentials.token.value).toBe(newToken)
})
