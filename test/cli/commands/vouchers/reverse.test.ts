import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { built } from '../../../support/cli/built-cli.js'
import {
  cli,
  type Received,
  redeemCode,
  refusal,
  secrets,
  stub,
  success,
  temporaryDir,
} from '../../../support/cli/cli.js'
import { pageOf, redemption, verification, voucher } from '../../../support/cli/samples.js'
import { type CliServer, cliServer } from '../../../support/cli/server.js'

const redeemed = { ...voucher, status: 'redeemed', redemptionId: 'rdm_07' }
const verify = 'POST /api/v1/open-platform/vouchers/verify'
const list = 'GET /_platform/v1/vouchers?external_issue_id=order-1&limit=100'
const reverse = (id: string) => `POST /api/v1/open-platform/vouchers/redemptions/${id}/reverse`
const called = (received: readonly Received[]) => received.map(({ method, path }) => `${method} ${path}`)

/** A platform that finds `vouchers` by their external id, and one voucher by its code. */
const platform = (found: unknown = redeemed, vouchers: readonly unknown[] = [redeemed]) =>
  stub(({ method, path }) => {
    if (method === 'GET') return success(pageOf(...vouchers))
    if (path.endsWith('/verify')) return success({ ...verification, voucher: found })
    return success({ ...redemption, id: path.split('/').at(-2), status: 'reversed' })
  })

describe('vouchers reverse', () => {
  test.each([
    ['rdm_01', {}, [reverse('rdm_01')]],
    ['-', { stdin: 'rdm_01\n' }, [reverse('rdm_01')]],
    ['--redemption 7c4e-81aa', {}, [reverse('7c4e-81aa')]],
    [redeemCode, {}, [verify, reverse('rdm_07')]],
    [`--code ${redeemCode}`, {}, [verify, reverse('rdm_07')]],
    ['-', { stdin: `${redeemCode}\n` }, [verify, reverse('rdm_07')]],
    ['--external-id order-1', {}, [list, reverse('rdm_07')]],
    ['', { terminal: true, replies: [redeemCode] }, [verify, reverse('rdm_07')]],
  ])('with "%s" makes the calls %#', { tags: 'codes-as-arguments/2' }, async (args, given, calls) => {
    const { baseUrl, received } = await platform()
    const line = `vouchers reverse ${args} --reason again --base-url ${baseUrl}`.replace('  ', ' ')
    const ran = await cli(line, { env: secrets, ...given })
    expect([ran.exit, called(received)]).toEqual([0, calls])
    expect(received.at(-1)?.body).toEqual({ reason: 'again' })
    expect(ran.stderr).not.toContain(redeemCode)
  })

  test('sends no mistyped code, and says where an order number goes', async () => {
    const { baseUrl, received } = await platform()
    const ran = await cli(`vouchers reverse order-1 --base-url ${baseUrl}`, { env: secrets })
    expect([ran.exit, received]).toEqual([2, []])
    expect(ran.stderr).toContain('An external id, such as an order number, goes with --external-id.')
  })

  test('sends a text without the prefix of an id in a body, because it may be a code', async () => {
    const { baseUrl, received } = await platform()
    const text = 'v2.7c4e81aa9d414a6e8f0a5d0c5d3b2a11'
    expect((await cli(`vouchers reverse ${text} --base-url ${baseUrl}`, { env: secrets })).exit).toBe(0)
    expect(called(received)).toEqual([verify, reverse('rdm_07')])
  })

  test('of a code without a voucher in the response exits with 5', async () => {
    const { baseUrl } = await platform(null)
    const ran = await cli(`vouchers reverse ${redeemCode} --base-url ${baseUrl}`, { env: secrets })
    expect([ran.exit, ran.stderr]).toEqual([5, expect.stringContaining('its status is unknown.')])
  })

  test('of a code whose voucher has no redemption exits with 5 and makes no second call', async () => {
    const { baseUrl, received } = await platform(voucher)
    const ran = await cli(`vouchers reverse ${redeemCode} --base-url ${baseUrl}`, { env: secrets })
    expect([ran.exit, called(received)]).toEqual([5, [verify]])
    expect(ran.stderr).toMatch(/has no redemption to reverse; its status is issued\. \(REDEMPTION_NOT_FOUND\)/)
  })

  test('with a token that may not verify says what needs no verification', async () => {
    const { baseUrl } = await stub(() => refusal(403, 'INSUFFICIENT_SCOPE', { required_scope: 'vouchers:verify' }))
    const { exit, stderr } = await cli(`vouchers reverse ${redeemCode} --base-url ${baseUrl}`, { env: secrets })
    expect(exit).toBe(4)
    expect(stderr).toMatch(/looks for the redemption of a code\. An id needs none/)
    expect(stderr).toContain('vouchers:verify')
  })

  test('without an operator key says who finds a voucher by its external id', async () => {
    const { baseUrl, received } = await platform()
    const { VOUCHERCTL_TOKEN } = secrets
    const ran = await cli(`vouchers reverse --external-id order-1 --base-url ${baseUrl}`, { env: { VOUCHERCTL_TOKEN } })
    expect([ran.exit, received]).toEqual([3, []])
    expect(ran.stderr).toContain('Only the operator of a local server finds vouchers by external id')
  })

  test('reverse by an external id of two vouchers exits 2, names both', { tags: 'codes-as-arguments/2' }, async () => {
    const { baseUrl, received } = await platform(null, [redeemed, voucher, { ...redeemed, redemptionId: 'rdm_08' }])
    const ran = await cli(`vouchers reverse --external-id order-1 --base-url ${baseUrl}`, { env: secrets })
    expect([ran.exit, called(received)]).toEqual([2, [list]])
    expect(ran.stderr).toContain('Several vouchers have the external id order-1: rdm_07, rdm_08.')
  })

  test.each([
    [[], 'No voucher has the external id order-1.'],
    [[voucher], 'No redeemed voucher has the external id order-1.'],
  ])('of an external id without a redemption exits with 5: %#', async (vouchers, message) => {
    const { baseUrl, received } = await platform(null, vouchers)
    const ran = await cli(`vouchers reverse --external-id order-1 --base-url ${baseUrl}`, { env: secrets })
    expect([ran.exit, called(received)]).toEqual([5, [list]])
    expect(ran.stderr).toContain(message)
  })

  test('with an argument and a flag exits with 2', async () => {
    const { baseUrl, received } = await platform()
    const ran = await cli(`vouchers reverse rdm_01 --external-id order-1 --base-url ${baseUrl}`, { env: secrets })
    expect([ran.exit, received]).toEqual([2, []])
    expect(ran.stderr).toContain('CODE and --external-id name two vouchers; give one.')
  })

  test('with an empty standard input exits with 2 and names the argument', async () => {
    const ran = await cli('vouchers reverse -', { stdin: '', env: secrets })
    expect([ran.exit, ran.stderr]).toEqual([2, expect.stringContaining('Standard input holds no value for CODE.')])
  })

  test('as a dry run sends only the search for an external id, and no verification', async () => {
    const { baseUrl, received } = await platform()
    const dry = `--dry-run --base-url ${baseUrl}`
    const byId = await cli(`vouchers reverse --external-id order-1 ${dry}`, { env: secrets })
    const byCode = await cli(`vouchers reverse ${redeemCode} ${dry}`, { env: secrets })
    expect(called(received)).toEqual([list])
    expect(byId.stdout).toMatch(/GET \S+ \(sent\)\n[^]*\/redemptions\/rdm_07\/reverse\n/)
    expect(byCode.stdout).toMatch(
      /\/verify\n[^]*would take the redemption of that voucher\n[^]*\/REDEMPTION_ID\/reverse\n/,
    )
    expect(byCode.stdout).not.toContain(redeemCode)
  })
})

describe('the built command', () => {
  let server: CliServer
  beforeAll(async () => {
    server = await cliServer()
  })
  afterAll(() => server.close())

  async function run(...args: readonly string[]) {
    const ran = await built.run([...args, '--json'], temporaryDir(), server.env)
    expect([args, ran.exit, ran.stderr]).toEqual([args, 0, ''])
    return JSON.parse(ran.stdout)
  }

  test('reverses by code and by external id, and shows the voucher by all four names', async () => {
    const { id, credential } = await server.issue()
    const code = credential.value
    const first = await run('vouchers', 'redeem', code)
    expect(await run('vouchers', 'reverse', code)).toMatchObject({ id: first.id, status: 'reversed' })
    const second = await run('vouchers', 'redeem', code)
    const externalId = second.externalIssueId
    const reversed = await run('vouchers', 'reverse', '--external-id', externalId)
    expect(reversed).toMatchObject({ id: second.id, status: 'reversed' })
    for (const name of [[id], [first.id], [second.id], [code], ['--external-id', externalId]]) {
      expect((await run('platform', 'vouchers', 'show', ...name)).voucher).toMatchObject({ id })
    }
    for (const text of [id, first.id, code, externalId]) {
      expect((await run('platform', 'find', text)).items).toMatchObject([{ kind: 'voucher', id }])
    }
    const nothing = await built.run(['platform', 'find', 'nobody'], temporaryDir(), server.env)
    expect(nothing.stdout).toMatch(
      /^Nothing was found\.\nNames and update ids were looked for only in the newest 1,000 records\.\n/,
    )
  })
})
