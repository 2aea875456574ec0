import { expect, test } from 'vitest'
import { adviceFor } from '../../src/cli/failures/call-failure.js'
import { missingId } from '../../src/cli/failures/ids.js'
import { type FailureCode, failures } from '../../src/contract/errors.js'
import { recordKinds } from '../../src/contract/record-kinds.js'
import type { IdPrefix } from '../../src/domain/ids.js'
import { cli, type Given, redeemCode, refusal, secrets, stub, success, temporaryDir } from '../support/cli/cli.js'
import { unrunnable } from '../support/cli/runnable.js'

const codes = Object.keys(failures) as FailureCode[]

/** Runs a command against a server that refuses every call. */
async function refused(args: string, status: number, code: string, details = {}, given: Given = {}) {
  const { baseUrl } = await stub(() => refusal(status, code, details))
  const ran = await cli(`${args} --base-url ${baseUrl}`, { env: secrets, ...given })
  return { ...ran, baseUrl, lines: ran.stderr.split('\n') }
}

test('every code of the failure table has a hint for people whose commands can be run', async () => {
  const hints = codes.map((code) => adviceFor(code, { details: {}, input: {} }))
  for (const hint of hints) expect(hint).toMatch(/^[^`]*(?:`[^`]+`[^`]*)*\.$/)
  for (const hint of hints) expect(hint).not.toMatch(/details\.|Retry-After|Idempotency-Key/)
  expect(await unrunnable(hints.join('\n'))).toEqual([])
  expect(adviceFor('constructor', { details: {}, input: {} })).toBeNull()
})

test('hints that name ids of the call or the response can be run', async () => {
  const ids = new Proxy({} as Record<string, unknown>, {
    get: (_, name) => (name === 'required_scope' ? 'vouchers:issue' : name === 'next_offset' ? 7 : 'id_01'),
  })
  const hints = codes.map((code) => adviceFor(code, { details: {}, input: ids }) ?? '')
  expect(hints.filter((it) => it.includes('id_01')).length).toBeGreaterThan(7)
  expect(await unrunnable(hints.join('\n'))).toEqual([])
})

test.each([
  ['bots updates', 'WEBHOOK_ACTIVE', { bot_id: 'bot_01' }, 'webhook delete bot_01', 'webhook deliveries bot_01'],
  ['bots send --chat chat_01 --text Hi', 'BOT_BLOCKED', {}, 'platform users unblock chat_01'],
  ['bots updates', 'BOT_DISABLED', { bot_id: 'bot_01' }, 'platform bots enable bot_01'],
])('hint of %s after %s names its id in the suggested command', async (args, code, details, ...commands) => {
  const { stderr, baseUrl } = await refused(args, 409, code, details)
  for (const it of commands) expect(stderr).toContain(`\`voucherctl ${it} --base-url ${baseUrl}\``)
})

test.each([
  ['http://127.0.0.1:3000/hook', 3000],
  ['http://localhost/hook', 8787],
])('hint for the refused webhook URL %s lets a local server deliver to port %i', async (url, port) => {
  const { stderr } = await refused(`webhook set bot_01 --url ${url}`, 400, 'WEBHOOK_URL_REFUSED', { reason: 'scheme' })
  expect(stderr).toContain(`\`voucherctl server start --dev-webhook-loopback ${port}\``)
})

test('hint for a damaged snapshot file deletes it only if it has the name of a snapshot file', () => {
  const hint = (file: string) => adviceFor('SNAPSHOTS_DAMAGED', { details: { file }, input: {} })
  for (const file of ['/my data/voucherctl.db.snapshots/6f6e65.db', '/my data/voucherctl.db.snapshots'])
    expect(hint(file)).toContain(`\`rm '${file}'\``)
  for (const file of ['/home/me/.profile', '/x; rm voucherctl.db.snapshots', '/x/voucherctl.db.snapshots/../keys.json'])
    expect(hint(file)).not.toContain('rm ')
})

test.each([
  [{ env: secrets }, 'application token sop_CANA… from VOUCHERCTL_TOKEN'],
  [{ stdin: secrets.VOUCHERCTL_TOKEN }, 'application token sop_CANA… from --token-file -'],
] as const)('failure names a refused credential with its source and server: %#', async (given, expected) => {
  const option = 'stdin' in given ? ' --token-file -' : ''
  const { exit, stderr, baseUrl } = await refused(`templates list${option}`, 401, 'TOKEN_REVOKED', {}, given)
  expect(exit).toBe(4)
  expect(stderr).toContain(`\n  credential: ${expected}, for ${baseUrl}\nhint: `)
  expect(stderr).not.toContain('CANARYtoken')
})

test.each(['/open-platform/vouchers/templates', '/open-platform/vouchers/templates --all', '/unknown --as token'])(
  'failure names the refused credential of api GET %s',
  async (path) => {
    const { exit, stderr, baseUrl } = await refused(`api GET ${path}`, 401, 'TOKEN_REVOKED')
    expect([exit, stderr]).toEqual([
      4,
      expect.stringContaining(`credential: application token sop_CANA… from VOUCHERCTL_TOKEN, for ${baseUrl}`),
    ])
  },
)

test('notices and errors break at spaces only on a terminal', async () => {
  const given = { terminal: true, columns: 60, env: { ...secrets, NO_COLOR: '1' } }
  const { stderr } = await refused('apps get app_01', 403, 'APPLICATION_DISABLED', {}, given)
  expect(stderr.split('\n').filter((it) => it.length > 60 && !it.trim().startsWith('`'))).toEqual([])
  expect(stderr).toMatch(/^hint: Its owner enables .*\n {6}\S/m)
  const { stderr: piped } = await refused('apps get app_01', 403, 'APPLICATION_DISABLED', {}, { columns: 60 })
  expect(piped).toMatch(/^hint: .{100}/m)
})

test('hint for a refused credential names its variable and the command for its kind', async () => {
  const { lines } = await refused('apps list', 401, 'TOKEN_INVALID')
  expect(lines[2]).toMatch(
    /^hint: Check .* VOUCHERCTL_JWT wins over the profile: correct it or unset it\. .*`voucherctl login /,
  )
  const typed = await refused(
    'templates list --token-file -',
    401,
    'TOKEN_INVALID',
    {},
    { stdin: secrets.VOUCHERCTL_TOKEN },
  )
  expect(typed.lines[2]).toMatch(/^hint: Check that .*`voucherctl tokens create --save /)
})

test('failure names an argument that no path can carry as the command does', async () => {
  const { exit, lines } = await refused('apps get ..', 404, 'ODD')
  expect([exit, lines[0]]).toEqual([2, 'error: APP_ID must be text that is not empty, "." or "..". (INVALID_INPUT)'])
})

test('failure names the profile of a refused credential', async () => {
  const home = temporaryDir()
  let isRefused = false
  const { baseUrl } = await stub(() =>
    isRefused ? refusal(401, 'TOKEN_EXPIRED') : { body: { success: true, data: { items: [] }, requestId: 'r' } },
  )
  await cli(`login -p shop --with-token - --base-url ${baseUrl}`, { home, stdin: secrets.VOUCHERCTL_TOKEN })
  isRefused = true
  const { stderr } = await cli('templates list -p shop', { home })
  expect(stderr).toContain(`credential: application token sop_CANA… from profile shop, for ${baseUrl}`)
})

test.each([
  ['apps get app_01', 'APPLICATION_NOT_FOUND', 'not found: app_01'],
  ['api GET /open-platform/applications/app_01', 'APPLICATION_NOT_FOUND', 'not found: app_01'],
  [
    'api DELETE /open-platform/applications/app_01/tokens/tpl_01 --yes',
    'TOKEN_NOT_FOUND',
    'tpl_01 is the id of a template; an id of an application token begins with tok_.',
  ],
  [
    'apps get tok_01',
    'APPLICATION_NOT_FOUND',
    'tok_01 is the id of an application token; an id of an application begins with app_.',
  ],
  [
    'vouchers redemption vch_01',
    'REDEMPTION_NOT_FOUND',
    'vch_01 is the id of a voucher; an id of a redemption begins with rdm_.',
  ],
  ['vouchers issue --template tpl_1 --external-id 1 --recipient u', 'TEMPLATE_NOT_FOUND', 'not found: tpl_1'],
  [`vouchers verify --code ${redeemCode}`, 'VOUCHER_NOT_FOUND', 'not found: code …T4FJ'],
])('%s that fails with %s names the missing resource', async (args, code, expected) => {
  const { exit, lines } = await refused(args, 404, code)
  expect([exit, lines.slice(0, 2)]).toEqual([5, [`error: Refused as ${code}. (${code})`, `  ${expected}`]])
})

test('failure names the kind of an id in place of a code, even for a refused form', async () => {
  const errors = [{ pointer: '/credential/value', code: 'pattern', message: 'must be a QR token' }]
  const { lines } = await refused('vouchers verify app_01', 400, 'VALIDATION_FAILED', { errors })
  expect(lines[1]).toBe('  app_… is the id of an application, not a code.')
})

test('every kind of id has a name in failures', () => {
  const prefixes: Record<IdPrefix, true> = {
    ...{ app: true, bot: true, chat: true, dlv: true, flt: true },
    ...{ rdm: true, req: true, tok: true, tpl: true, vch: true },
  }
  expect(
    Object.values(recordKinds)
      .map((it) => it.prefix)
      .sort(),
  ).toEqual(Object.keys(prefixes).sort())
  expect(missingId('VOUCHER_NOT_FOUND', { credential: { type: 'redeem_code', value: 'rdm_01' } })).toBe(
    'rdm_… is the id of a redemption, not a code.',
  )
  expect(missingId('toString', {})).toBeUndefined()
})

test('failure names the flag of a refused member, and in JSON its pointer', async () => {
  const args =
    'templates create --external-id c --name n --type t --issuer-name i --fulfiller-name f --fulfillment-category offline_service --acquisition-source s --valid-from 2026-11-21 --valid-to 2026-11-22 --issue-limit 1'
  const errors = [{ pointer: '/validity/starts_at', code: 'format', message: 'must be a time' }]
  const { stderr } = await refused(args, 400, 'VALIDATION_FAILED', { errors })
  expect(stderr).toContain('\n  --valid-from: must be a time\n')
  const json = await refused(`${args} --json`, 400, 'VALIDATION_FAILED', { errors })
  expect(JSON.parse(json.stderr).error.details).toEqual({ errors })
})

test('failure with --jq is text on a terminal unless JSON is chosen, otherwise JSON', async () => {
  const run = (more: string, given: Given) => refused(`templates list --jq .id${more}`, 409, 'ODD', {}, given)
  const terminal = { env: { ...secrets, NO_COLOR: '1' }, terminal: true }
  expect((await run('', terminal)).lines[0]).toContain('error: Refused as ODD. (ODD)')
  expect((await run(' --json', terminal)).stderr).toContain('{"error":{"code":"ODD"')
  expect((await run('', {})).stderr).toMatch(/^\{"error":/)
  expect((await cli('templates list --jq ][ --base-url http://127.0.0.1:1', terminal)).stderr).toMatch(
    /^error: .*\(JQ_INVALID\)/,
  )
})

/** A server that refuses vouchers, and shows the application and the token of the account. */
async function withAccount(code: string, details: Record<string, unknown>) {
  const token = secrets.VOUCHERCTL_TOKEN
  const its = { tokenPrefix: token.slice(0, 8), last4: token.slice(-4), scopes: ['vouchers:read', 'hostile; rm'] }
  return stub(({ path }) =>
    path.includes('/tokens')
      ? success({ items: [null, { ...its, last4: 'none', scopes: ['vouchers:issue'] }, its] })
      : path.includes('/applications')
        ? success({ items: [{}, { id: 'app_01' }] })
        : refusal(403, code, details),
  )
}

test('hint for a missing scope proposes a token that adds it to the scopes of the present one', async () => {
  const { baseUrl } = await withAccount('INSUFFICIENT_SCOPE', { required_scope: 'vouchers:redeem' })
  const ran = await cli(`vouchers redeem ${redeemCode} --base-url ${baseUrl}`, { env: secrets })
  const create = `tokens create --app app_01 --scope vouchers:read --scope vouchers:redeem --save --base-url ${baseUrl}`
  expect([ran.exit, ran.stderr]).toEqual([4, expect.stringContaining(`has vouchers:redeem: \`voucherctl ${create}\`.`)])
  expect(ran.stderr).toContain('VOUCHERCTL_TOKEN wins over the profile: unset it then.')
  expect(await unrunnable(ran.stderr)).toEqual([])
})

test('hint for a missing scope without an account JWT proposes no token with fewer scopes', async () => {
  const { baseUrl, received } = await withAccount('INSUFFICIENT_SCOPE', { required_scope: 'vouchers:redeem' })
  const given = { stdin: secrets.VOUCHERCTL_TOKEN, env: {} }
  const { stderr } = await cli(`vouchers redeem ${redeemCode} --token-file - --base-url ${baseUrl}`, given)
  expect(stderr).toContain('Create a token with vouchers:redeem and the scopes that the present one has')
  expect(stderr).not.toMatch(/--scope|--save|wins/)
  expect(received).toHaveLength(1)
})

test.each([
  ['disabled', 'apps update app_01 --status active'],
  ['suspended', 'platform apps reinstate app_01'],
])('hint for a %s application names its id', async (status, command) => {
  const { baseUrl } = await withAccount('APPLICATION_DISABLED', { status })
  const { stderr } = await cli(`templates list --base-url ${baseUrl}`, { env: secrets })
  expect(stderr).toContain(`\`voucherctl ${command} --base-url ${baseUrl}\`.`)
  expect(await unrunnable(stderr)).toEqual([])
})

test('tokens create --save names the variable that wins over the token it stores', async () => {
  const created = { id: 'tok_01', name: 'n', token: 'sop_new', scopes: [] }
  const { baseUrl } = await stub(() => success(created))
  const command = `tokens create --app app_01 --scope vouchers:read --save --base-url ${baseUrl}`
  const { VOUCHERCTL_JWT } = secrets
  expect((await cli(command, { env: secrets })).stderr).toContain('VOUCHERCTL_TOKEN is set and wins over the profile')
  expect((await cli(command, { env: { VOUCHERCTL_JWT } })).stderr).not.toContain('wins')
})
