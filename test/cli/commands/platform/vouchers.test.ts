import { expect, test } from 'vitest'
import { cli, type Received, redeemCode, refusal, secrets, stub, success } from '../../../support/cli/cli.js'
import { delivery, pageOf, voucher, voucherHistory } from '../../../support/cli/samples.js'

const lookup = '/_platform/v1/voucher-lookup'
const find = { method: 'POST', path: lookup, body: { credential: { type: 'redeem_code', value: redeemCode } } }
const show = { method: 'GET', path: '/_platform/v1/vouchers/vch_01', body: null }
const called = ({ method, path, body }: Received) => ({ method, path, body })

test.each([
  ['an id', ['vch_01'], {}, show],
  ['an id from stdin', ['-'], { stdin: 'vch_01\n' }, show],
  ['an id at a prompt', [], { terminal: true, replies: ['vch_01'] }, show],
  ['a code from stdin', ['-'], { stdin: `${redeemCode}\n` }, find],
  ['a code at a prompt', [], { terminal: true, replies: [redeemCode] }, find],
  ['a code of --code', ['--code', redeemCode], {}, find],
  ['the id of a redemption', ['rdm_01'], {}, { ...show, path: '/_platform/v1/vouchers/rdm_01' }],
])('platform vouchers show finds a voucher by %s', async (_what, args, given, expected) => {
  const { baseUrl, received } = await stub(() => success(voucherHistory))
  const ran = await cli(['platform', 'vouchers', 'show', ...args, '-q', '--base-url', baseUrl], {
    env: secrets,
    ...given,
  })
  expect([ran.exit, ran.stdout]).toEqual([0, 'vch_01\n'])
  expect(received.map(called)).toEqual([expected])
  expect(ran.stderr).not.toContain(redeemCode)
})

test('platform vouchers show finds the only voucher of an external id', async () => {
  const found = [pageOf(voucher), pageOf(), pageOf(voucher, { ...voucher, id: 'vch_02' })]
  const { baseUrl, received } = await stub(({ path }) =>
    success(path.includes('?') ? found.shift() : { ...voucherHistory, voucher }),
  )
  const run = () => cli(`platform vouchers show --external-id order-1 -q --base-url ${baseUrl}`, { env: secrets })
  const [one, none, several] = [await run(), await run(), await run()]
  expect([one.exit, one.stdout, none.exit, several.exit]).toEqual([0, `${voucher.id}\n`, 5, 2])
  expect(received.map((it) => it.path).slice(0, 2)).toEqual([
    '/_platform/v1/vouchers?external_issue_id=order-1&limit=100',
    `/_platform/v1/vouchers/${voucher.id}`,
  ])
  expect(none.stderr).toContain('No voucher has the external id order-1. (VOUCHER_NOT_FOUND)')
  expect(several.stderr).toContain(`Several vouchers have the external id order-1: ${voucher.id}, vch_02.`)
})

test('platform vouchers show repeats the id of an unknown redemption', async () => {
  const { baseUrl } = await stub(() => refusal(404, 'VOUCHER_NOT_FOUND'))
  const { stderr } = await cli(`platform vouchers show rdm_01 --base-url ${baseUrl}`, { env: secrets })
  expect(stderr).toContain('not found: rdm_01')
})

test('platform vouchers show names the kind of an id that belongs to no voucher', async () => {
  const { baseUrl, received } = await stub(() => refusal(404, 'VOUCHER_NOT_FOUND'))
  const ran = await cli(`platform vouchers show tpl_01 --base-url ${baseUrl}`, { env: secrets })
  expect(ran.exit).toBe(5)
  expect(ran.stderr).toContain('tpl_01 is the id of a template; an id of a voucher begins with vch_.')
  expect(received[0]?.method).toBe('GET')
  // An id is neither scanned nor typed, and the operator sees the vouchers of all applications.
  expect(ran.stderr).toContain('hint: The vouchers of this server: `voucherctl platform vouchers list')
})

const [issued, verified] = voucherHistory.events
const at = (seconds: number) => new Date(Date.UTC(2026, 10, 21, 10, 0, seconds)).toISOString()
const call = (type: string, seconds: number, members: object = {}) => ({
  ...issued,
  type,
  at: at(seconds),
  updates: [],
  ...members,
})
const attempt = (number: number, status: number) => ({
  number,
  manual: false,
  started_at: at(6 + number),
  duration_ms: 12,
  status_code: status,
  error: status < 300 ? null : { code: 'http_status', message: 'The endpoint responded with 500 instead of 2xx.' },
})
const life = {
  ...voucherHistory,
  now: at(10),
  voucher: { ...voucher, status: 'expired' },
  events: [
    call('issued', 0, { idempotency_key: 'k'.repeat(100), message: { chat_id: 'chat_01', message_id: 3 } }),
    { ...verified, at: at(5), reason: 'expired' },
    call('redeemed', 6, {
      redemption_id: 'rdm_01',
      reference: 'till-4',
      updates: [
        {
          bot_id: 'bot_01',
          update_id: 7,
          type: 'voucher_redeemed',
          pending: false,
          delivery: { ...delivery, status: 'delivered', attempts: [attempt(1, 500), attempt(2, 200)] },
        },
        { bot_id: 'bot_02', update_id: 8, type: 'voucher_redeemed', pending: true, delivery: null },
      ],
    }),
    call('replayed', 7, { stored: false, endpoint: 'vouchers.redeem' }),
    call('reversed', 8, { redemption_id: 'rdm_01', reason: 'wrong article' }),
    call('expired', 9, { endpoint: null, request_id: null, idempotency_key: null, token_prefix: null }),
  ],
}

/** Draws a history; the clocks of command and server differ. */
const drawn = async (history: object, given: object = {}) => {
  const { baseUrl } = await stub(() => success(history))
  const ran = await cli(`platform vouchers show vch_01 --base-url ${baseUrl}`, {
    env: { ...secrets, NO_COLOR: '1' },
    terminal: true,
    columns: 80,
    ...given,
  })
  expect(ran.exit).toBe(0)
  return ran.stdout
}

test('history of a voucher is drawn as a timeline that fits 80 columns', async () => {
  const text = await drawn(life)
  expect(text.split('\n').filter((line) => line.length > 80)).toEqual([])
  const timeline = text.slice(text.indexOf('●'))
  expect(timeline.replaceAll(/\(\d+s ago\)/g, '(…)')).toBe(
    [
      '● issued     2026-11-21 10:00:00Z (…)',
      '│ token       sop_CANA… (till)',
      '│ request     req_01',
      `│ key         ${'k'.repeat(66)}`,
      `│             ${'k'.repeat(34)}`,
      '│ message     3 in chat_01',
      '│',
      '○ verified * 2026-11-21 10:00:05Z (…)  not redeemable: it has expired',
      '│ token       sop_CANA… (till)',
      '│ request     req_01',
      '│ key         order-1',
      '│',
      '● redeemed   2026-11-21 10:00:06Z (…)',
      '│ redemption  rdm_01',
      '│ reference   till-4',
      '│ token       sop_CANA… (till)',
      '│ request     req_01',
      '│ key         order-1',
      '│ update of   bot_01',
      '│   #7  message  delivered  dlv_01',
      '│     ✗  2026-11-21 10:00:07Z (…)  500  12 ms',
      '│     ✓  2026-11-21 10:00:08Z (…)  200  12 ms',
      '│ update of   bot_02',
      '│   #8  voucher_redeemed  not polled yet',
      '│',
      '○ replayed * 2026-11-21 10:00:07Z (…)  vouchers.redeem',
      '│ token       sop_CANA… (till)',
      '│ request     req_01',
      '│ key         order-1',
      '│',
      '● reversed   2026-11-21 10:00:08Z (…)',
      '│ redemption  rdm_01',
      '│ reason      wrong article',
      '│ token       sop_CANA… (till)',
      '│ request     req_01',
      '│ key         order-1',
      '│',
      '● expired    2026-11-21 10:00:09Z (…)',
      '',
      '* Verifications and replays are known since the server started, 2026-11-21',
      '10:00:00Z (…).',
      '',
    ].join('\n'),
  )
})

test('history of an open voucher ends with the expiry', async () => {
  const open = { ...voucherHistory, voucher: { ...voucher, status: 'issued', validUntil: at(70) } }
  expect(await drawn(open)).toMatch(/^◌ expires {4}2026-11-21 10:01:10Z \(in 1m\)$/m)
})

test('history names the start of a complete request log and missing older redemptions', async () => {
  const text = await drawn({ ...life, older_redemptions: true, log_since: at(4) })
  expect(text).toContain('Only the newest redemptions are shown.')
  expect(text.replaceAll('\n', ' ')).toMatch(/known since 2026-11-21 10:00:04Z \(\w+ ago\), the beginning of the log/)
})

test('history has colours, and no control sequence from the server', async () => {
  const hostile = {
    ...life,
    events: [call('reversed', 1, { reason: 'a\u001b[31mb\u0007', token_name: '\u001b]0;x\u0007' })],
  }
  const text = await drawn(hostile, { env: { ...secrets, FORCE_COLOR: '1' } })
  expect(text).toContain('ab')
  expect(text).not.toMatch(/\u001b\[31mb|\u0007|\u001b\]/)
  expect(text).toContain('\u001b[33m● reversed')
})

test('platform vouchers list sends its filters, and names them if no voucher matches', async () => {
  const { baseUrl, received } = await stub(({ path }) =>
    success(path.includes('recipient') ? pageOf() : pageOf(voucher)),
  )
  const filters = '--template tpl_01 --recipient ann --external-id order-1 --status expired --since 10m'
  const given = { env: secrets, now: Date.parse(at(10)) }
  const ran = await cli(`platform vouchers list ${filters} --base-url ${baseUrl}`, given)
  expect(ran.stdout).toBe(`No vouchers on ${baseUrl} match ${filters}. Without the filter there is 1.\n`)
  const { pathname, searchParams } = new URL(received[0]?.path ?? '', baseUrl)
  expect(pathname).toBe('/_platform/v1/vouchers')
  expect(Object.fromEntries(searchParams)).toEqual({
    template_id: 'tpl_01',
    recipient_user_id: 'ann',
    external_issue_id: 'order-1',
    status: 'expired',
    since: expect.stringMatching(/^2026-11-21T09:50:10\.\d{3}Z$/),
  })
})

test('--since takes a date in UTC, and refuses another text', async () => {
  const { baseUrl, received } = await stub(() => success(pageOf(voucher)))
  const list = (since: string) => cli(`platform vouchers list --since ${since} --base-url ${baseUrl}`, { env: secrets })
  expect((await list('2026-11-21')).exit).toBe(0)
  expect(received[0]?.path).toContain('since=2026-11-21T00%3A00%3A00Z')
  const refused = await list('yesterday')
  expect([refused.exit, refused.stderr]).toEqual([2, expect.stringContaining('or a duration such as 10m')])
})
