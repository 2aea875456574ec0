import { expect, test } from 'vitest'
import { cli, type Given, refusal, secrets, stub, success } from '../../../support/cli/cli.js'
import { deliveryDetail, deliveryReplay } from '../../../support/cli/samples.js'

const body = '{"update_id":1}'
const run = async (args: readonly string[], data: object, given: Given = {}) => {
  const { baseUrl, received } = await stub(() => success(data))
  const ran = await cli(['platform', 'deliveries', ...args, '--base-url', baseUrl], { env: secrets, ...given })
  return { ...ran, received }
}
const replaying = (args: readonly string[], data: object = deliveryReplay, given: Given = {}) =>
  run(['replay', 'dlv_01', ...args], data, given)

test('platform deliveries show draws the signature, the response and causes within 80 columns', async () => {
  const hints = [{ code: 'raw_body', text: `The signature covers ${'these bytes '.repeat(12)}as they were sent.` }]
  const response = { ...deliveryDetail.responses[0]?.response, body: Buffer.from('no\u001b[31m').toString('base64') }
  const responses = [{ ...deliveryDetail.responses[0], response }]
  const env = { ...secrets, NO_COLOR: '1' }
  const given = { env, terminal: true, columns: 80 }
  const { exit, stdout } = await run(['show', 'dlv_01'], { ...deliveryDetail, hints, responses }, given)
  expect(exit).toBe(0)
  expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
  const lines = [
    'Delivery dlv_01 is failed.',
    'url  https://shop.example/hook',
    'attempt 2 of 5',
    'Signature of the last attempt',
    `  current secret:\n  ${'c0ffee'.padEnd(64, '0')}\n  The current secret made this signature over these bytes.`,
    '  401  2 bytes\n  no\n',
    '  - The signature covers these bytes',
  ]
  for (const line of lines) expect(stdout).toContain(line)
})

test('platform deliveries show says that a bot has no webhook', async () => {
  const bare = { ...deliveryDetail, url: null, request: null, signature: null, verification: null, hints: [] }
  const { stdout } = await run(['show', 'dlv_01'], bare)
  expect(stdout).toContain('none: the bot has no webhook')
  expect(stdout).not.toContain('Signature')
})

test('platform deliveries show names the fault of an attempt, and what makes a delivery late', async () => {
  const { delivery } = deliveryDetail
  const [attempt] = delivery.attempts
  const forged = { ...deliveryDetail, delivery: { ...delivery, attempts: [{ ...attempt, fault: 'forged' }] } }
  expect((await run(['show', 'dlv_01'], forged)).stdout).toMatch(/ ms {2}fault forged$/m)
  const last_error = { code: 'postponed', message: 'A planted fault makes this delivery late.' }
  const late = { ...deliveryDetail, delivery: { ...delivery, attempts: [], attempt_count: 0, last_error } }
  expect((await run(['show', 'dlv_01'], late)).stdout).toContain('failed (A planted fault makes this delivery late.)')
})

test.each([
  [[], { mode: 'as_sent' }],
  [['--resign'], { mode: 'resigned' }],
  [['--body-file', '-'], { mode: 'resigned', body: Buffer.from(body).toString('base64') }],
  [['--body-file', '-', '--as-sent'], { mode: 'as_sent', body: Buffer.from(body).toString('base64') }],
])('platform deliveries replay with the flags %j sends %j', async (flags, expected) => {
  const { received } = await replaying(flags, deliveryReplay, { stdin: body })
  expect(received.map((it) => [it.path, it.body])).toEqual([['/_platform/v1/deliveries/dlv_01/replay', expected]])
})

const error = { code: 'connection_refused', message: 'The endpoint refused the connection.' }
test.each([
  [204, null, 0],
  [302, error, 8],
  [401, error, 8],
  [500, error, 9],
  [null, error, 9],
])('platform deliveries replay of the status %s exits %i', async (status, failed, exit) => {
  const ran = await replaying(['--json'], { ...deliveryReplay, status, error: failed })
  expect([ran.exit, JSON.parse(ran.stdout).status, ran.stderr]).toEqual([exit, status, ''])
})

test.each([
  [['--resign', '--as-sent'], 2],
  [['--body-file', 'missing.json'], 2],
])('platform deliveries replay with the flags %j sends nothing', async (flags, exit) => {
  const ran = await replaying(flags)
  expect([ran.exit, ran.stdout, ran.received]).toEqual([exit, '', []])
})

test('platform deliveries names the list of deliveries for an unknown id', async () => {
  const { baseUrl } = await stub(() => refusal(404, 'DELIVERY_NOT_FOUND'))
  const ran = await cli(`platform deliveries show dlv_01 --base-url ${baseUrl}`, { env: secrets })
  expect(ran.exit).toBe(5)
  expect(ran.stderr).toContain('hint: The deliveries of this server: `voucherctl platform deliveries list')
})
