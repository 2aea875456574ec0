import { expect, test } from 'vitest'
import { cli, redeemCode, secrets, stub, success } from '../../support/cli.js'
import { app, template, verification } from '../../support/cli-samples.js'

const env = { ...secrets, NO_COLOR: '1' }

test('apps create prompts for a missing name on a terminal and sends the reply', async () => {
  const { baseUrl, received } = await stub(() => success(app))
  const ran = await cli(`apps create --base-url ${baseUrl}`, { env, terminal: true, replies: ['Shop'] })
  expect(ran.exit).toBe(0)
  expect(ran.asked).toEqual(['Name of the application'])
  expect(received[0]?.body).toEqual({ name: 'Shop' })
})

test('templates create prompts for all required values in order', async () => {
  const { baseUrl, received } = await stub(() => success(template))
  const replies = ['coffee', 'Coffee', 'gift', 'Shop', 'Shop', 'physical_goods', 'purchase', '30', '5']
  const ran = await cli(`templates create --base-url ${baseUrl}`, { env, terminal: true, replies })
  expect(ran.exit).toBe(0)
  expect(ran.asked).toHaveLength(9)
  expect(received[0]?.body).toMatchObject({
    name: 'Coffee',
    type: 'gift',
    validity: { type: 'relative', duration_days: 30 },
    issue_limit: 5,
  })
})

test('a command exits 2 for an invalid reply to its prompt', async () => {
  const { baseUrl } = await stub(() => success(template))
  const ran = await cli(`platform clock advance --base-url ${baseUrl}`, { env, terminal: true, replies: ['soon'] })
  expect([ran.exit, ran.stdout]).toEqual([2, ''])
})

test('a command exits 130 for Ctrl-C at its prompt and sends nothing', async () => {
  const { baseUrl, received } = await stub(() => success(app))
  const ran = await cli(`apps create --base-url ${baseUrl}`, { env, terminal: true, replies: [undefined] })
  expect([ran.exit, ran.stdout, received.length]).toEqual([130, '', 0])
})

test('a command with --no-input exits 3 instead of prompting on a terminal', async () => {
  const { baseUrl } = await stub(() => success(app))
  const ran = await cli(`apps create --no-input --base-url ${baseUrl}`, { env, terminal: true, replies: ['Shop'] })
  expect([ran.exit, ran.asked]).toEqual([3, []])
  expect(ran.stderr).toContain('--name')
})

test('a command without a terminal names all missing values in one error', async () => {
  const { stderr } = await cli('vouchers issue --external-id e --json', { env })
  expect(JSON.parse(stderr).error.details.missing).toEqual(['--template', '--recipient'])
})

test('vouchers verify prompts for the code if no flag gives it', async () => {
  const { baseUrl, received } = await stub(() => success(verification))
  await cli(`vouchers verify --base-url ${baseUrl}`, { env, terminal: true, replies: [redeemCode] })
  expect(received[0]?.body).toEqual({ credential: { type: 'redeem_code', value: redeemCode } })
})

test('a command prompts for a missing credential with hidden input and sends it', async () => {
  const { baseUrl, received } = await stub(() => success(verification))
  const ran = await cli(`vouchers verify --code ${redeemCode} --base-url ${baseUrl}`, {
    terminal: true,
    replies: ['sop_typed'],
  })
  expect(ran.exit).toBe(0)
  expect(ran.asked[0]).toMatch(/application token for .*hidden/)
  expect(received[0]?.headers.authorization).toBe('Bearer sop_typed')
  expect(ran.stdout + ran.stderr).not.toContain('sop_typed')
})
