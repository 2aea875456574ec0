import { afterAll, beforeAll, expect, test } from 'vitest'
import { readOperatorKey } from '../../src/cli/config/local-server.js'
import { createClient } from '../../src/client/index.js'
import { readDifferences } from '../../src/server/differences-file.js'
import { startServer } from '../../src/server/listen.js'
import type { RunningServer } from '../../src/server/options.js'
import { defaultSeed } from '../../src/testing/options.js'

const DAY_S = 86_400
const file = `
rate-limits: { reads: 2/600 }
idempotency-keys: { days: 2 }
applications: { max: 2 }
application-tokens: { default_days: 7, max: 3 }
bot-records: { max: 2 }
reversal:
  window_days: 30
failure-codes:
  VOUCHER_NOT_FOUND: No such voucher here.
`

async function differencesOf(text: string) {
  const read = await readDifferences(text)
  if (!read.ok) throw new Error(read.problems.map((it) => `${it.line}: ${it.message}`).join('\n'))
  return read.differences
}

let server: RunningServer
const clientOf = (token: string) => createClient({ baseUrl: server.baseUrl, token })
const client = () => clientOf(defaultSeed.applications?.[0]?.tokens?.[0]?.token ?? '')
const operator = () => clientOf(readOperatorKey({ operator_key_file: server.operatorKeyFile }) ?? '').platform
beforeAll(async () => {
  const differences = await differencesOf(file)
  const options = { port: 0, memory: true, testClock: true, operator: true, logLevel: 'silent', differences } as const
  server = await startServer({ ...options, seed: defaultSeed })
})
afterAll(async () => {
  await server.close()
})
const redeem = async (id: string) => {
  const order = { template_id: 'tpl_coffee', external_issue_id: id, recipient_user_id: 'user-1' }
  const issued = await client().vouchers.issue(order)
  if (!issued.ok) throw new Error(issued.code)
  const [credential] = issued.data.credentials
  if (credential === undefined) throw new Error('The voucher has no credential')
  const redeemed = await client().vouchers.redeem({ credential })
  if (!redeemed.ok) throw new Error(redeemed.code)
  return redeemed.data.id
}

const account = async () => {
  const jwt = await operator().issueAccountToken({ accountId: 'acme' })
  if (!jwt.ok) throw new Error(jwt.code)
  return clientOf(jwt.data.jwt)
}

test('a token whose creation names no lifetime has that of the differences', async () => {
  const { tokens } = await account()
  const created = await tokens.create({ appId: 'app_shop', name: 'one', scopes: ['vouchers:read'] })
  const named = await tokens.create({
    appId: 'app_shop',
    name: 'two',
    scopes: ['vouchers:read'],
    expires_in_days: null,
  })
  if (!created.ok || !named.ok) throw new Error('No token')
  const lifetime = Date.parse(created.data.expiresAt ?? '') - Date.parse(created.data.createdAt)
  expect([lifetime, named.data.expiresAt]).toEqual([7 * DAY_S * 1000, null])
})

test('an account has the applications, bots and active tokens of the differences, and no more', async () => {
  const { apps, bots, tokens } = await account()
  const app = await apps.create({ name: 'Second shop' })
  if (!app.ok) throw new Error(app.code)
  const full = { ok: false, status: 409, details: { limit: 2 } }
  expect(await apps.create({ name: 'Third shop' })).toMatchObject({ ...full, code: 'APPLICATION_LIMIT_REACHED' })

  expect(await bots.apply({ name: 'Second bot', username: 'second_bot' })).toMatchObject({ ok: true })
  const third = await bots.apply({ name: 'Third bot', username: 'third_bot' })
  expect(third).toMatchObject({ ...full, code: 'BOT_LIMIT_REACHED' })

  const createToken = () => tokens.create({ appId: app.data.id, name: 'till', scopes: ['vouchers:read'] })
  const [first, ...others] = [await createToken(), await createToken(), await createToken()]
  expect(others).toMatchObject([{ ok: true }, { ok: true }])
  expect(await createToken()).toMatchObject({ ...full, code: 'TOKEN_LIMIT_REACHED', details: { limit: 3 } })
  if (!first.ok) throw new Error(first.code)
  await tokens.revoke({ appId: app.data.id, tokenId: first.data.id })
  expect(await createToken()).toMatchObject({ ok: true })
})

test('an idempotency key can name another request after the days of the differences, not before', async () => {
  const order = { template_id: 'tpl_coffee', external_issue_id: 'first-order', recipient_user_id: 'user-1' }
  const other = { ...order, external_issue_id: 'other-order' }
  const idempotencyKey = 'order-of-today'
  expect(await client().vouchers.issue(order, { idempotencyKey })).toMatchObject({ ok: true })
  await operator().advanceClock({ seconds: 2 * DAY_S - 60 })
  expect(await client().vouchers.issue(other, { idempotencyKey })).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' })
  await operator().advanceClock({ seconds: 120 })
  expect(await client().vouchers.issue(other, { idempotencyKey })).toMatchObject({ ok: true, status: 201 })
})

test('a redemption can be reversed for the days of the differences, and not after them', async () => {
  const [first, second] = [await redeem('order-1'), await redeem('order-2')]
  await operator().advanceClock({ seconds: 30 * DAY_S - 60 })
  expect(await client().vouchers.reverse({ redemptionId: first })).toMatchObject({ ok: true })
  await operator().advanceClock({ seconds: 120 })
  expect(await client().vouchers.reverse({ redemptionId: second })).toMatchObject({ code: 'REVERSAL_WINDOW_CLOSED' })
})

test('a failure has the message of the differences, another failure its own', async () => {
  const unknown = { type: 'redeem_code', value: 'M9S3-46Q3-D25V-T4FJ' } as const
  expect(await client().vouchers.verify({ credential: unknown })).toMatchObject({
    code: 'VOUCHER_NOT_FOUND',
    message: 'No such voucher here.',
  })
  expect(await client().vouchers.redemption({ redemptionId: 'rdm_none' })).toMatchObject({
    message: expect.not.stringContaining('here'),
  })
})

test('a rate limit is that of the differences', async () => {
  const codes: string[] = []
  for (let n = 0; n < 3; n += 1) {
    const page = await client().templates.list({})
    codes.push(page.ok ? 'ok' : page.code)
  }
  expect(codes).toContain('RATE_LIMITED')
})

test('a server names its differences', () => {
  expect(server.differences).toEqual([
    'rate-limits.reads',
    'idempotency-keys.days',
    'applications.max',
    'application-tokens.default_days',
    'application-tokens.max',
    'bot-records.max',
    'reversal.window_days',
    'failure-codes.VOUCHER_NOT_FOUND',
  ])
})

test.each([
  ['a rule that cannot be switched', 'lists:\n  limit: 50', 1, 'lists has no setting: it cannot be switched.'],
  ['a misspelt rule', 'reversals: { window_days: 3 }', 1, 'reversals has no setting: did you mean reversal?'],
  ['an unknown setting', 'reversal:\n  days: 3', 2, 'reversal has no setting days'],
  [
    'a value out of range',
    'reversal:\n\n  window_days: 0',
    3,
    'reversal.window_days must be an integer from 1 to 3650.',
  ],
  ['no applications', 'applications: { max: 0 }', 1, 'applications.max must be an integer from 1 to 10000.'],
  [
    'a maximum of tokens that is too large',
    'application-tokens:\n  max: 10001',
    2,
    'must be an integer from 1 to 10000.',
  ],
  ['half a bot', 'bot-records: { max: 1.5 }', 1, 'bot-records.max must be an integer from 1 to 10000.'],
  ['a text as a lifetime', 'idempotency-keys: { days: 30d }', 1, 'must be an integer from 1 to 3650.'],
  ['the lifetime of updates', 'updates: { lifetime_hours: 48 }', 1, 'updates has no setting: it cannot be switched.'],
  ['a limit of another form', 'rate-limits: { issue: 5 }', 1, 'rate-limits.issue must be a text CALLS/SECONDS'],
  ['an unknown code', 'failure-codes: { NO_CODE: x }', 1, 'failure-codes has no setting NO_CODE'],
  ['a rule without settings', 'reversal: 30', 1, 'reversal must be a map of settings.'],
  ['a list', '- reversal', 1, 'The file must be a map of rules.'],
  ['a file that is no YAML', 'reversal: {', 1, ''],
])('%s is refused with its line', async (_, text, line, message) => {
  const read = await readDifferences(text)
  expect(read).toMatchObject({ ok: false, problems: [{ line, message: expect.stringContaining(message) }] })
})
