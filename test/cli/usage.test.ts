import { readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { topics } from '../../src/cli/program.js'
import { cli, redeemCode, secrets, stub, success } from '../support/cli/cli.js'
import { verification, voucher } from '../support/cli/samples.js'

const verify = `vouchers verify --code ${redeemCode}`

test.each([
  ['vouchrs list', /Unknown command 'vouchrs'/, /vouchers/],
  ['vouchers isue', /Unknown command 'isue'/, /issue/],
  ['platform clock sett', /Unknown command 'sett'/, /set/],
  ['vouchers issue --recipent x', /Unknown option '--recipent'/, /--recipient/],
  ['apps list --jsn', /Unknown option '--jsn'/, /--json/],
  ['help vouchrs', /Unknown command 'vouchrs'/, /vouchers/],
  ['vouchers isue --help', /Unknown command 'isue'/, /issue/],
])('the command %s exits 2 and suggests the similar valid name', async (args, message, hint) => {
  const { exit, stdout, stderr } = await cli(args)
  expect([exit, stdout]).toEqual([2, ''])
  const [first, second] = stderr.split('\n')
  expect(first).toMatch(message)
  expect(second).toMatch(/^hint: Did you mean/)
  expect(second).toMatch(hint)
})

test.each([
  ['vouchers redeem M9S3 46Q3', 'See `voucherctl vouchers redeem --help`.'],
  ['bots crete', 'See `voucherctl bots --help`.'],
  ['apps get a b', 'See `voucherctl apps get --help`.'],
  ['platform clock zzzzzz', 'See `voucherctl platform clock --help`.'],
  ['zzzzzz', 'See `voucherctl --help`.'],
  ['help zzzzzz', 'See `voucherctl --help`.'],
  ['verify --code x', 'Did you mean `voucherctl vouchers verify` or `voucherctl webhook verify`?'],
  ['list', 'See `voucherctl --help`.'],
  ['docs', 'Did you mean `voucherctl help`?'],
  ['vouchers list', 'Did you mean `voucherctl platform vouchers list`?'],
  ['vouchers get vch_1', 'Did you mean `voucherctl platform vouchers show`?'],
  ['help nope', 'See `voucherctl --help`.'],
  ['-V', 'Did you mean --version?'],
  ['apps list --json=yes', 'Did you mean --json?'],
  ['apps list --xyzzy', 'See `voucherctl apps list --help`.'],
  ['lgos', 'Did you mean logs?'],
  ['tokens create --app a --scope vouchers:isue', 'Did you mean vouchers:issue?'],
  ['templates list --status activ', 'Did you mean active?'],
  [
    'vouchers issue --template t --curl',
    '`voucherctl api POST /api/v1/open-platform/vouchers/issue --curl` prints the call as curl',
  ],
  ['apps get app_01 --curl', '`voucherctl api GET /api/v1/open-platform/applications/app_01 --curl` prints the call'],
  ['bots get coffee_bot --curl', '`voucherctl api GET /api/v1/bots/my/:botId --curl` prints the call'],
  ['login --curl', 'See `voucherctl login --help`.'],
  ['constructor', 'See `voucherctl --help`.'],
  ['vouchers constructor', 'See `voucherctl vouchers --help`.'],
  ['--json', 'It takes one of quickstart, doctor, login, logout'],
  ['-q', 'It takes one of quickstart, doctor, login, logout'],
])('the command %s exits 2 with the hint "%s"', async (args, hint) => {
  const { exit, stderr } = await cli(args)
  expect(exit).toBe(2)
  expect(stderr).toContain(args === '--json' ? `"hint":"${hint}` : `hint: ${hint}`)
})

test('apps get names its missing argument once in text and in the details of the JSON error', async () => {
  const args = 'apps get --base-url http://127.0.0.1:1'
  expect((await cli(args)).stderr.split('\n')).toEqual([
    'error: Missing: APP_ID. (INPUT_REQUIRED)',
    expect.stringMatching(/^hint: /),
    '',
  ])
  expect(JSON.parse((await cli(`${args} --json`)).stderr).error.details).toEqual({ missing: ['APP_ID'] })
  expect((await cli('apps list --base-url http://127.0.0.1:1')).stderr).not.toContain('kind')
})

test.each(['vouchers issu --template x', 'vouchers issue --templ x', 'voucher list', 'app lis'])(
  'the command %s exits 2 because a prefix of a name is not accepted',
  { tags: 'names-of-commands/1' },
  async (args) => {
    expect((await cli(args)).exit).toBe(2)
  },
)

test.each([
  ['apps', /voucherctl apps needs a command/],
  ['platform clock', /voucherctl platform clock needs a command/],
  ['--json', /needs a command/],
  ['apps list extra', /too many arguments/i],
  ['apps get app_01 app_02', /too many arguments/i],
  ['apps list --page', /'--page' needs a value/],
  ['apps list --page zero', /--page must be a whole number/],
  ['apps list --page 1 --page 2', /--page was given 2 times/],
  ['apps list --json -o yaml', /--json and --output/],
  ['apps list --output xml', /--output must be one of table, json/],
  ['apps list --timeout soon', /--timeout must be a duration/],
  ['apps list --retries 21', /--retries must be/],
  ['apps list --fields a,,b', /--fields must be names/],
  ['apps list --idempotency-key k', /no meaning for apps list/],
  ['apps list --base-url ftp://x', /base URL must be an http or https URL/],
  ['apps update app_01', /Nothing to change/],
  ['vouchers verify --code a --qr-token b', /--code and --qr-token name two vouchers/],
  ['vouchers verify a --code b', /CODE and --code name two vouchers/],
  ['vouchers verify --code - --token-file -', /cannot both read stdin/],
  ['vouchers issue --template t --external-id e --recipient r --metadata pair', /--metadata must be key=value/],
  ['vouchers issue --template t --external-id e --recipient r --qr-file out.gif', /\.png or \.svg/],
  ['vouchers issue --template tpl_01 --external-id e --recipient r --qr --json', /--qr draws on the terminal/],
  ['templates list --all --page 2', /--all and --page cannot be combined/],
  ['templates create --valid-days 1 --valid-from 2027-01-01', /--valid-from and --valid-days cannot be combined/],
  ['templates create --delay-days 1', /--delay-days needs --valid-days/],
  ['login --local --token-file -', /--local and --token-file cannot be combined/],
  ['login --account x', /--account needs --local/],
  ['server start --memory --data x', /--memory and --data cannot be combined/],
  ['server start --memory --dev-webhook-loopback 8787 --host 0.0.0.0', /needs a loopback --host/],
  ['server start --memory --dev-webhook-loopback 8787,0', /ports from 1 to 65535/],
  ['server start --memory --egress-ip example.com', /IPv4 or IPv6/],
  ['server start --memory --no-secure --require-secure', /--no-secure and --require-secure cannot be combined/],
  ['server start --memory --allowed-origin shop.example', /full origin/],
  ['server start --memory --allowed-origin https://shop.example/', /full origin/],
  ['server start --memory --allowed-origin https://Shop.example', /full origin/],
  ['server start --memory --allowed-origin null', /full origin/],
  ['server start --memory --brand a|b', /letters, digits/],
  ['server start --rate-limit isue=5/60', /NAME one of issue/],
  ['server start --rate-limit off --rate-limit issue=5/60', /either off or a list/],
  ['profiles set --base-url http://a:b@c', /must not hold a user or password/],
  ['profiles set', /Nothing to set/],
  ['tokens create --app a --scope vouchers:everything', /--scope must be one of vouchers:read/],
])('the command %s exits 2 with a usage error and sends nothing', async (args, message) => {
  const { baseUrl, received } = await stub(() => success({}))
  const env = { ...secrets, VOUCHERCTL_BASE_URL: baseUrl }
  const { exit, stdout, stderr } = await cli(args, { env })
  expect(stderr).toMatch(message)
  expect([exit, stdout, received.length]).toEqual([2, '', 0])
})

test('wrong usage with --json prints one error object', async () => {
  for (const args of [
    'vouchers isue --json',
    'apps list -o json --page x',
    'apps --output=json',
    'apps list --jsn --json',
  ]) {
    const { exit, stdout, stderr } = await cli(args)
    expect([exit, stdout]).toEqual([2, ''])
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'USAGE', status: null, retryable: false } })
  }
})

test('the error for an invalid base URL does not contain the URL, which may hold a password', async () => {
  const { stderr } = await cli('apps list --base-url http://user:hunter2@host')
  expect(stderr).not.toContain('hunter2')
})

test('vouchers verify accepts global flags before and after it, in each form', { tags: 'command-line/1' }, async () => {
  const { baseUrl } = await stub(() => success(verification))
  for (const args of [
    `--base-url ${baseUrl} -o json ${verify}`,
    `vouchers --base-url=${baseUrl} verify --json --code ${redeemCode}`,
    `${verify} --base-url ${baseUrl} -ojson`,
    `-o json ${verify} --base-url=${baseUrl} -q`,
  ]) {
    const { exit, stdout } = await cli(args, { env: secrets })
    expect(exit).toBe(0)
    expect(JSON.parse(stdout)).toEqual(verification)
  }
})

test('the singular of a command group name selects that group', async () => {
  const { baseUrl } = await stub(() => success(verification))
  const { exit } = await cli(`voucher verify --code ${redeemCode} --base-url ${baseUrl}`, { env: secrets })
  expect(exit).toBe(0)
})

test('voucherctl without arguments prints --help with every group', async () => {
  const { exit, stdout } = await cli('')
  expect(exit).toBe(0)
  expect(stdout).toBe((await cli('--help')).stdout)
  for (const name of ['quickstart', 'login', 'profiles', 'apps', 'vouchers', 'platform', 'flags exit-codes'])
    expect(stdout).toMatch(new RegExp(`^ .* ${name}(?: |$)`, 'm'))
})

test('--version prints the version, with --json as a document', async () => {
  expect((await cli('--version')).stdout).toBe('9.9.9\n')
  expect(JSON.parse((await cli('--version --json')).stdout)).toEqual({ version: '9.9.9' })
  for (const args of ['-v', 'version', 'apps list -v']) expect((await cli(args)).stdout).toBe('9.9.9\n')
})

test('help --json prints a JSON document for the main page, a group, a command or a topic', async () => {
  expect(JSON.parse((await cli('--help --json')).stdout).groups).toContainEqual(
    expect.objectContaining({ name: 'apps', alias: 'app' }),
  )
  expect(JSON.parse((await cli('vouchers --help --json')).stdout)).toHaveLength(10)
  const [redeem] = JSON.parse((await cli('help vouchers redeem --json')).stdout)
  expect(redeem).toMatchObject({ command: 'voucherctl vouchers redeem', changes: true })
  expect(JSON.parse((await cli('help exit-codes --json')).stdout)).toContainEqual(expect.objectContaining({ exit: 5 }))
})

test('help first-steps prints a guide as Markdown wrapped to 80 columns, with --json as JSON', async () => {
  const { exit, stdout } = await cli('help first-steps')
  expect(exit).toBe(0)
  expect(stdout).toMatch(/^# First steps\n/)
  const prose = stdout.replace(/^```[^]*?^```$/gm, '').split('\n')
  expect(prose.filter((line) => line.length > 80 && !line.startsWith('|') && line.includes(' '))).toEqual([])
  const { path, text } = JSON.parse((await cli('help first-steps --json')).stdout)
  expect(path).toBe('src/guides/first-steps.md')
  expect(text).toMatch(/^# First steps\n/)
})

const guides = Object.entries(topics).flatMap(([name, summary]) => (summary.startsWith('Guide: ') ? [name] : []))

test('every file in src/guides is a topic that help prints', async () => {
  const files = readdirSync(new URL('../../src/guides/', import.meta.url)).filter((name) => name.endsWith('.md'))
  expect(files.map((name) => name.slice(0, -3)).sort()).toEqual([...guides].sort())
  for (const name of guides) {
    const { path, text } = JSON.parse((await cli(`help ${name} --json`)).stdout)
    expect([path, text]).toEqual([`src/guides/${name}.md`, expect.stringMatching(/^# \w/)])
  }
})

test('--jq filters the JSON documents of help and --version', { tags: 'results/2' }, async () => {
  expect(await cli(['--version', '--jq', '.version'])).toMatchObject({ exit: 0, stdout: '9.9.9\n' })
  expect((await cli(['help', 'vouchers', 'issue', '--json', '--jq', '.[].command'])).stdout).toBe(
    'voucherctl vouchers issue\n',
  )
  expect((await cli(['help', 'exit-codes', '--jq', 'length > 5'])).stdout).toBe('true\n')
  expect(await cli(['vouchers', '--help', '--jq', '.a('])).toMatchObject({ exit: 2, stdout: '' })
  expect(await cli(['--version', '--jq', '.version.a'])).toMatchObject({ exit: 1, stdout: '' })
  expect((await cli(['help', 'vouchers', 'nothing', '--jq', '.'])).exit).toBe(2)
})

test.each(['vouchers issue', 'vouchers redeem', 'vouchers reverse'])(
  'the help of %s states the business rules for credentials and authorization',
  async (path) => {
    const text = (await cli(`${path} --help`)).stdout.replace(/\s+/g, ' ')
    expect(text).toMatch(/trusted servers/)
    if (path === 'vouchers issue')
      expect(text).toMatch(/user authorization or an existing business relationship.*must not be enumerated/)
    else expect(text).toMatch(/own idempotency key/)
    if (path !== 'vouchers reverse') expect(text).toMatch(/redemption credentials.*unrelated parties/)
  },
)

test('--reason=-n passes a value that begins with a dash', { tags: 'values-of-flags/1' }, async () => {
  const { baseUrl, received } = await stub(() => success(voucher))
  await cli(['vouchers', 'reverse', 'rdm_01', '--reason=-n', '--base-url', baseUrl], { env: secrets })
  expect(received[0]?.body).toEqual({ reason: '-n' })
})

test('a command with -ojson prints a usage error as JSON', async () => {
  expect(JSON.parse((await cli('apps list -ojson --nope')).stderr).error.code).toBe('USAGE')
})

test('server start exits 2 for a --jwks-url that is not a URL', async () => {
  expect(await cli('server start --memory --port 0 --jwks-url nonsense')).toMatchObject({ exit: 2, stdout: '' })
})
