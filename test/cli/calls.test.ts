import { expect, test } from 'vitest'
import { exitMeanings } from '../../src/cli/command/topics.js'
import { failures } from '../../src/contract/errors.js'
import { cli, redeemCode, refusal, secrets, stub, success } from '../support/cli/cli.js'
import { issuedVoucher, leafCalls, pageOf, redemption, template, verification } from '../support/cli/samples.js'
import { closedPort } from '../support/closed-port.js'

const redeem = `vouchers redeem --code ${redeemCode} --json`

test('a command exits with the exit code that the failure table lists for each error code', async () => {
  let response = refusal(500, 'INTERNAL_ERROR')
  const { baseUrl } = await stub(() => response)
  for (const [code, { status, exit }] of Object.entries(failures)) {
    response = refusal(status, code)
    const ran = await cli(`${redeem} --retries 0 --base-url ${baseUrl}`, { env: secrets })
    expect([code, ran.exit, ran.stdout]).toEqual([code, exit, ''])
    expect(JSON.parse(ran.stderr).error).toMatchObject({ code, status, request_id: 'req_2' })
    expect(Object.keys(exitMeanings)).toContain(String(exit))
  }
})

test('a failure in table format prints message, details, hint and request id', async () => {
  const details = {
    errors: [{ pointer: '/extrnal', code: 'x', message: 'is unknown', suggestion: 'did you mean external?' }],
    other: 1,
  }
  const { baseUrl } = await stub(() => refusal(400, 'VALIDATION_FAILED', details))
  const { stderr } = await cli(`vouchers redeem --code ${redeemCode} --base-url ${baseUrl}`, { env: secrets })
  expect(stderr.split('\n')).toEqual([
    'error: Refused as VALIDATION_FAILED. (VALIDATION_FAILED)',
    '  /extrnal: is unknown (did you mean external?)',
    '  other: 1',
    'hint: Correct each value that is named above.',
    'request: req_2',
    '',
  ])
})

test('every retry of a command sends the same idempotency key and body', async () => {
  const { baseUrl, received } = await stub((_request, index) => (index < 2 ? { drop: true } : success(redemption)))
  const ran = await cli(`${redeem} --base-url ${baseUrl}`, { env: secrets })
  expect(ran.exit).toBe(0)
  expect(received.map((it) => it.headers['idempotency-key'])).toEqual(['key-1', 'key-1', 'key-1'])
  expect(new Set(received.map((it) => JSON.stringify(it.body))).size).toBe(1)
})

test('--idempotency-key sends its value as the Idempotency-Key header', async () => {
  const { baseUrl, received } = await stub(() => success(redemption))
  await cli(`${redeem} --idempotency-key mine --base-url ${baseUrl}`, { env: secrets })
  expect(received[0]?.headers['idempotency-key']).toBe('mine')
})

test('a command exits 9 after a lost response and names the idempotency key for a safe retry', async () => {
  const { baseUrl } = await stub(() => ({ drop: true }))
  const ran = await cli(`${redeem} --retries 1 --base-url ${baseUrl}`, { env: secrets })
  expect(ran.exit).toBe(9)
  const { error } = JSON.parse(ran.stderr)
  expect(error.details.idempotency_key).toBe('key-1')
  expect(error.hint).toMatch(/may have been done.*--idempotency-key key-1/)
})

test('a command without idempotency key exits 9 after a lost response and names a check command', async () => {
  const { baseUrl, received } = await stub(() => ({ drop: true }))
  const ran = await cli(`apps create --name Shop --json --base-url ${baseUrl}`, { env: secrets })
  expect(ran.exit).toBe(9)
  expect(JSON.parse(ran.stderr).error.hint).toMatch(/may have been done.*voucherctl apps list/)
  expect(received).toHaveLength(1)
})

test('--retries 1 makes two attempts, and --retries 0 makes one', async () => {
  for (const [retries, tries] of [
    [0, 1],
    [1, 2],
  ] as const) {
    const { baseUrl, received } = await stub(() => refusal(503, 'SERVICE_UNAVAILABLE'))
    const ran = await cli(`${redeem} --retries ${retries} --base-url ${baseUrl}`, { env: secrets })
    expect([ran.exit, received.length]).toEqual([9, tries])
  }
})

test('an API call that gets no response within --timeout exits 9', async () => {
  const { createServer } = await import('node:http')
  const { listen } = await import('../support/listen.js')
  const port = await listen(createServer(() => {}))
  const ran = await cli(`apps list --json --timeout 50ms --base-url http://127.0.0.1:${port}`, { env: secrets })
  expect(ran.exit).toBe(9)
  expect(JSON.parse(ran.stderr).error.code).toBe('TIMEOUT')
})

test('a refused connection exits 9 with a hint in table format', async () => {
  const ran = await cli(`apps list --retries 0 --base-url http://127.0.0.1:${await closedPort()}`, { env: secrets })
  expect(ran.exit).toBe(9)
  expect(ran.stderr).toMatch(/^error: No connection .*\nhint: .*profile show --explain/)
})

test('vouchers verify exits 0 for a voucher that is not redeemable, and 6 with --check', async () => {
  const spent = { ...verification, redeemable: false, reason: 'already_redeemed' }
  const { baseUrl } = await stub(() => success(spent))
  const plain = await cli(`vouchers verify --code ${redeemCode} --json --base-url ${baseUrl}`, { env: secrets })
  const checked = await cli(`vouchers verify --code ${redeemCode} --check --json --base-url ${baseUrl}`, {
    env: secrets,
  })
  expect([plain.exit, checked.exit]).toEqual([0, 6])
  expect(JSON.parse(checked.stdout)).toEqual(spent)
  expect(checked.stderr).toBe('')
})

test('vouchers redeem rejects a mistyped code before the request, but only for a loopback server', async () => {
  const { baseUrl, received } = await stub(() => success(verification))
  const mistyped = 'M9S3-46Q3-D25V-T4FK'
  const ran = await cli(`vouchers redeem --code ${mistyped} --json --base-url ${baseUrl}`, { env: secrets })
  expect([ran.exit, JSON.parse(ran.stderr).error.code, received.length]).toEqual([2, 'REDEEM_CODE_MISTYPED', 0])
  expect(ran.stderr).not.toContain(mistyped)
  const short = await cli(`vouchers redeem --code nope --base-url ${baseUrl}`, { env: secrets })
  expect(short.stderr).toContain('This is not a redeem code, which has 16 letters and digits in four groups.')
  const elsewhere = await cli(`vouchers redeem --code ${mistyped} --dry-run --base-url https://vouchers.example`, {
    env: secrets,
  })
  expect(elsewhere.exit).toBe(0)
})

test('--code - and --qr-token - read the secret from stdin and remove its line end', async () => {
  const { baseUrl, received } = await stub(() => success(verification))
  await cli(`vouchers verify --code - --base-url ${baseUrl}`, { env: secrets, stdin: `${redeemCode}\n` })
  await cli(`vouchers verify --qr-token - --base-url ${baseUrl}`, { env: secrets, stdin: 'VQ1-X\r\n' })
  expect(received.map((it) => it.body)).toEqual([
    { credential: { type: 'redeem_code', value: redeemCode } },
    { credential: { type: 'qr_token', value: 'VQ1-X' } },
  ])
})

test('the flags of a command become the members of the request body', async () => {
  const { baseUrl, received } = await stub(() => success(issuedVoucher))
  const send = (args: string) => cli(`${args} --base-url ${baseUrl}`, { env: secrets })
  await send('vouchers issue --template tpl_01 --external-id o-1 --recipient u-1 --metadata shop=7 --metadata till=a=b')
  await send(`vouchers redeem --code ${redeemCode} --recipient u-1 --reference r-1 --metadata a=`)
  await send(
    'templates create --external-id e --name N --type gift --issuer-name I --fulfiller-name F --fulfillment-category physical_goods --acquisition-source purchase --valid-from 2027-01-01T00:00:00Z --valid-to 2027-02-01T00:00:00Z --issue-limit 5 --description D',
  )
  await send(
    'tokens create --app app_01 --name till --scope vouchers:redeem --scope vouchers:verify --expires-in-days never',
  )
  await send(
    'apps create --name Shop --allowed-origin https://a.example --allowed-origin https://b.example --secure-transport required',
  )
  expect(received.map((it) => it.body)).toEqual([
    { template_id: 'tpl_01', external_issue_id: 'o-1', recipient_user_id: 'u-1', metadata: { shop: '7', till: 'a=b' } },
    {
      credential: { type: 'redeem_code', value: redeemCode },
      recipient_user_id: 'u-1',
      reference: 'r-1',
      metadata: { a: '' },
    },
    {
      external_template_id: 'e',
      name: 'N',
      type: 'gift',
      issuer_name: 'I',
      fulfiller_name: 'F',
      fulfillment_category: 'physical_goods',
      acquisition_source: 'purchase',
      validity: { type: 'fixed', starts_at: '2027-01-01T00:00:00Z', ends_at: '2027-02-01T00:00:00Z' },
      issue_limit: 5,
      description: 'D',
    },
    { name: 'till', scopes: ['vouchers:redeem', 'vouchers:verify'], expires_in_days: null },
    { name: 'Shop', allowed_origins: ['https://a.example', 'https://b.example'], secure_transport: 'required' },
  ])
})

test('templates create reads a template from stdin, and flags override its members', async () => {
  const { baseUrl, received } = await stub(() => success(template))
  const definition = {
    external_template_id: 'e',
    name: 'N',
    type: 'gift',
    issuer_name: 'I',
    fulfiller_name: 'F',
    fulfillment_category: 'physical_goods',
    acquisition_source: 'purchase',
    validity: { type: 'relative', duration_days: 3 },
    issue_limit: 5,
  }
  const ran = await cli(`templates create --file - --name Other --base-url ${baseUrl}`, {
    env: secrets,
    stdin: JSON.stringify(definition),
  })
  expect(ran.exit).toBe(0)
  expect(received[0]?.body).toEqual({ ...definition, name: 'Other' })
  const broken = await cli(`templates create --file - --base-url ${baseUrl}`, { env: secrets, stdin: '[1]' })
  expect(broken.exit).toBe(2)
  expect(received).toHaveLength(1)
})

test.each([
  ['{ "name": "N",\n  "isue_limit": 5 }', '2:3', 'The file has no member "isue_limit": did you mean "issue_limit"?'],
  // The file reader returns `{ ok, … }` too; a member of that name must not confuse it.
  ['{ "ok": true }', '1:3', expect.stringContaining('The file has no member "ok"')],
  [
    '{ "validity":\n  { "type": "relative", "days": 3 } }',
    '2:25',
    'validity has no member "days": it takes type, duration_days, delay_days, not_after',
  ],
  ['{ "name": "A", "name": "B" }', '1:16', 'Map keys must be unique.'],
  ['{\n  "name": "N",\n}', '3:1', 'JSON needs " here.'],
  ['{ "name": "N"', '1:14', 'JSON needs , or } here.'],
  ['name: N', '1:1', 'JSON needs a value here.'],
  ['[1]', '1:1', expect.stringContaining('The file must be a record of external_template_id')],
])('templates create refuses the file %j at %s', { tags: 'template-files/1' }, async (stdin, place, message) => {
  const { baseUrl, received } = await stub(() => success(template))
  const args = `templates create --file - --json --base-url ${baseUrl}`
  const { exit, stderr } = await cli(args, { env: secrets, stdin })
  expect([exit, received]).toEqual([2, []])
  expect(JSON.parse(stderr).error.details.errors).toEqual([{ pointer: `stdin:${place}`, message }])
})

test('templates create --submit suggests templates submit if only submitting fails', async () => {
  const { args = '' } = leafCalls['templates create'] ?? {}
  const good = await stub(({ path }) =>
    success({ ...template, status: path.endsWith('/submit') ? 'reviewing' : 'draft' }),
  )
  const ran = await cli(`templates create ${args} --submit --json --base-url ${good.baseUrl}`, { env: secrets })
  expect(JSON.parse(ran.stdout).status).toBe('reviewing')
  expect(good.received.map((it) => it.path)).toEqual([
    '/api/v1/open-platform/vouchers/templates',
    '/api/v1/open-platform/vouchers/templates/tpl_01/submit',
  ])

  const bad = await stub(({ path }) =>
    path.endsWith('/submit') ? refusal(409, 'TEMPLATE_STATE_CONFLICT') : success(template),
  )
  const failed = await cli(`templates create ${args} --submit --json --base-url ${bad.baseUrl}`, { env: secrets })
  expect(failed.exit).toBe(6)
  expect(JSON.parse(failed.stderr).error.hint).toContain('voucherctl templates submit tpl_01')

  const dry = await cli(`templates create ${args} --submit --dry-run --json --base-url ${good.baseUrl}`, {
    env: secrets,
  })
  expect(JSON.parse(dry.stdout).requests).toHaveLength(2)
})

test('the filter and page flags of a list command become query parameters', async () => {
  const { baseUrl, received } = await stub(() => success(pageOf()))
  await cli(`templates list --status active --external-id coffee --page 2 --limit 5 --base-url ${baseUrl}`, {
    env: secrets,
  })
  expect([...new URL(received[0]?.path ?? '', 'http://x').searchParams].sort()).toEqual([
    ['external_template_id', 'coffee'],
    ['limit', '5'],
    ['page', '2'],
    ['status', 'active'],
  ])
})

test('an unexpected exception exits 1 and its message is not printed', async () => {
  const ran = await cli('apps create', { terminal: true, replies: [], env: { NO_COLOR: '1' } })
  expect(ran.exit).toBe(1)
  expect(ran.stderr).toMatch(/^error: voucherctl failed unexpectedly/)
  expect(ran.stderr).not.toMatch(/No reply is left/)
})

test('templates create with one date as start and end means the whole day', { tags: 'typed-times/1' }, async () => {
  const { baseUrl, received } = await stub(() => success({ ...template, id: 'tpl_01' }))
  const args =
    'templates create --external-id e --name N --type gift --issuer-name I --fulfiller-name F --fulfillment-category physical_goods --acquisition-source purchase --valid-from 2027-01-31 --valid-to 2027-01-31 --issue-limit 5'
  const { stderr } = await cli(`${args} --base-url ${baseUrl}`, { env: secrets })
  const validity = { type: 'fixed', starts_at: '2027-01-31T00:00:00Z', ends_at: '2027-02-01T00:00:00Z' }
  expect(received[0]?.body).toMatchObject({ validity })
  expect(stderr).toContain('Valid from 2027-01-31 00:00:00Z until 2027-02-01 00:00:00Z.')
})

const token = secrets.VOUCHERCTL_TOKEN
const others = 'quotes, white space or other characters'

test.each(['\r', '\n', '\r\n'])(
  'a credential of the environment or a file is sent without its line end %j',
  async (end) => {
    const { baseUrl, received } = await stub(() => success(redemption))
    const args = `${redeem} --base-url ${baseUrl}`
    expect((await cli(args, { env: { VOUCHERCTL_TOKEN: `${token}${end}` } })).exit).toBe(0)
    expect((await cli(`${args} --token-file -`, { stdin: `${token}${end}` })).exit).toBe(0)
    expect(received.map((it) => it.headers.authorization)).toEqual([`Bearer ${token}`, `Bearer ${token}`])
  },
)

test.each([
  [`\ufeff${token}`, 'a byte order mark'],
  [`\r${token}`, 'a line end'],
  [`${token}\n\n`, 'a line end'],
  [`${token.slice(0, 20)}\r\n${token.slice(20)}`, 'a line end'],
  [`"${token}"`, others],
  [`'${token}'`, others],
  [`${token} `, others],
  [`${token}\u00e9`, others],
])('the credential %j is refused with its source and its mistake, and is not shown', async (value, what) => {
  const { baseUrl, received } = await stub(() => success(redemption))
  const args = `${redeem} --base-url ${baseUrl}`
  const runs = [
    ['VOUCHERCTL_TOKEN', await cli(args, { env: { VOUCHERCTL_TOKEN: value } })],
    ['Standard input', await cli(`${args} --token-file -`, { stdin: value })],
    ['Standard input', await cli(`login --with-token - --json --base-url ${baseUrl}`, { stdin: value })],
  ] as const
  for (const [source, { exit, stderr }] of runs) {
    const message = `${source} does not hold one secret on one line: it has ${what}.`
    expect([exit, JSON.parse(stderr).error]).toEqual([2, expect.objectContaining({ code: 'INVALID_INPUT', message })])
    expect(stderr).not.toContain('CANARY')
  }
  expect(received).toEqual([])
})

test.each(['\ufeffCANARY', 'CANARY\n\n', '"CANARY"', 'CANARY\r7'])(
  'VOUCHERCTL_WEBHOOK_SECRET=%j is refused with its name, and is not shown',
  async (value) => {
    const given = { stdin: '{}', env: { VOUCHERCTL_WEBHOOK_SECRET: value } }
    const { exit, stderr } = await cli('webhook sign --body-file - --update-id 1', given)
    expect([exit, stderr]).toEqual([2, expect.stringContaining('VOUCHERCTL_WEBHOOK_SECRET does not hold one secret')])
    expect(stderr).not.toContain('CANARY')
  },
)
