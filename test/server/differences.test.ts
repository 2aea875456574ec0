import { afterAll, beforeAll, expect, test } from 'vitest'
import { readOperatorKey } from '../../src/cli/config/local-server.js'
import { createClient } from '../../src/client/index.js'
import { readDifferences } from '../../src/server/differences.js'
import { startServer } from '../../src/server/listen.js'
import type { RunningServer } from '../../src/server/options.js'
import { defaultSeed } from '../../src/testing/seed.js'

const DAY_S = 86_400
const file = `
rate-limits: { reads: 2/600 }
application-tokens: { default_days: 7 }
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

test('a token whose creation names no lifetime has that of the differences', async () => {
  const jwt = await operator().issueAccountToken({ accountId: 'acme' })
  if (!jwt.ok) throw new Error(jwt.code)
  const account = clientOf(jwt.data.jwt)
  const created = await account.tokens.create({ appId: 'app_shop', name: 'one', scopes: ['vouchers:read'] })
  const named = await account.tokens.create({
    appId: 'app_shop',
    name: 'two',
    scopes: ['vouchers:read'],
    expires_in_days: null,
  })
  if (!created.ok || !named.ok) throw new Error('No token')
  const lifetime = Date.parse(created.data.expiresAt ?? '') - Date.parse(created.data.createdAt)
  expect([lifetime, named.data.expiresAt]).toEqual([7 * DAY_S * 1000, null])
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
    'application-tokens.default_days',
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
  ['a limit of another form', 'rate-limits: { issue: 5 }', 1, 'rate-limits.issue must be a text CALLS/SECONDS'],
  ['an unknown code', 'failure-codes: { NO_CODE: x }', 1, 'failure-codes has no setting NO_CODE'],
  ['a rule without settings', 'reversal: 30', 1, 'reversal must be a map of settings.'],
  ['a list', '- reversal', 1, 'The file must be a map of rules.'],
  ['a file that is no YAML', 'reversal: {', 1, ''],
])('%s is refused with its line', async (_, text, line, message) => {
  const read = await readDifferences(text)
  expect(read).toMatchObject({ ok: false, problems: [{ line, message: expect.stringContaining(message) }] })
})
