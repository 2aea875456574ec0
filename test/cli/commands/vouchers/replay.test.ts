import { beforeAll, describe, expect, test } from 'vitest'
import { createClient } from '../../../../src/client/index.js'
import { cli, redeemCode, refusal, secrets, stub, success } from '../../../support/cli/cli.js'
import { issuedVoucher, redemption } from '../../../support/cli/samples.js'
import { cliServer } from '../../../support/cli/server.js'

const replayed = { 'idempotent-replayed': 'true' }

describe('replays on the reference server', { tags: 'replays/1' }, () => {
  let run: (command: string) => ReturnType<typeof cli>
  let json: (command: string) => Promise<Record<string, unknown>>
  let code = ''
  let baseUrl = ''
  let bearer = ''

  beforeAll(async () => {
    const server = await cliServer()
    baseUrl = server.baseUrl
    bearer = server.token
    run = (command) => cli(command, { env: server.env })
    json = async (command) => {
      const { stdout, stderr } = await run(`${command} --json`)
      expect(stderr).toBe('')
      return JSON.parse(stdout)
    }
    code = (await server.issue()).credential.value
    return () => server.close()
  })

  test.each(['off', 'required'])('replay is marked with --secure %s', { tags: 'idempotency-keys/1' }, async (mode) => {
    const key = (name: string) => `--idempotency-key ${name}-${mode} --secure ${mode}`
    const redeem = `vouchers redeem --code ${code} ${key('k1')}`
    const first = await json(redeem)
    expect([first.status, first.replayed]).toEqual(['succeeded', undefined])
    expect(await json(redeem)).toEqual({ ...first, replayed: true, since: null })

    const reverse = `vouchers reverse ${first.id} ${key('k2')}`
    const reversed = await json(reverse)
    expect(reversed.replayed).toBeUndefined()
    const again = await run(redeem)
    expect([again.exit, again.stderr]).toEqual([0, ''])
    expect(again.stdout).toMatch(
      /^Replayed: first done at [-\d]+ [:\d]+Z; the redemption was reversed since \([-\d]+ [:\d]+Z\)\.\n/,
    )
    expect(again.stdout).not.toContain('Redeemed')
    expect(again.stdout).toMatch(/^voucher status +issued\nvoucher redeemable +yes$/m)
    const since = { subject: 'redemption', status: 'reversed', at: reversed.reversedAt }
    expect(await json(redeem)).toEqual({ ...first, replayed: true, since })

    expect((await run(reverse)).stdout).toMatch(/^Replayed: first done at .*; nothing has changed since\.\n/)
    await run(`vouchers redeem --code ${code} ${key('k3')}`)
    expect((await run(reverse)).stdout).toMatch(/; the voucher was redeemed since\.\n/)
    expect((await json(`${redeem} --fields id,replayed`)).replayed).toBe(true)
    const last = await json(`vouchers redeem --code ${code} ${key('k3')}`)
    await json(`vouchers reverse ${last.id} ${key('k4')}`)
  })

  test('the client library marks a replay in its result', async () => {
    const client = createClient({ baseUrl, token: bearer, secure: { mode: 'required' } })
    const credential = { type: 'redeem_code', value: code } as const
    const options = { idempotencyKey: 'library' }
    expect(await client.vouchers.redeem({ credential }, options)).toMatchObject({ ok: true, replayed: false })
    expect(await client.vouchers.redeem({ credential }, options)).toMatchObject({ ok: true, replayed: true })
  })
})

test('a replayed command omits `since` if the server does not verify the voucher', { tags: 'replays/1' }, async () => {
  for (const [command, data] of [
    [`vouchers redeem --code ${redeemCode}`, redemption],
    ['vouchers reverse rdm_01', { ...redemption, status: 'reversed', reversedAt: redemption.redeemedAt }],
    ['vouchers issue --template tpl_01 --external-id order-1 --recipient user-1', issuedVoucher],
  ] as const) {
    const responses = [{ ...success(data), headers: replayed }, refusal(403, 'INSUFFICIENT_SCOPE')]
    const { baseUrl, received } = await stub((_request, index) => responses[index % 2] as (typeof responses)[number])
    const told = await cli(`${command} --base-url ${baseUrl}`, { env: secrets })
    expect([told.exit, told.stderr, received.length]).toEqual([0, '', 2])
    expect(told.stdout).toContain('Replayed: first done at 2026-11-21 10:00:00Z.\n')
    const { replayed: marked, since } = JSON.parse(
      (await cli(`${command} --json --base-url ${baseUrl}`, { env: secrets })).stdout,
    )
    expect([marked, since]).toEqual([true, undefined])
  }
})

test('vouchers issue reports on a replay that the voucher was redeemed since', { tags: 'replays/1' }, async () => {
  const redeemed = { ...issuedVoucher, status: 'redeemed', redeemedAt: '2026-11-22T08:00:00.000Z' }
  const { baseUrl, received } = await stub(({ path }) =>
    path.endsWith('/verify')
      ? success({ redeemable: false, reason: 'already_redeemed', voucher: redeemed })
      : { ...success(issuedVoucher), headers: replayed },
  )
  const issue = 'vouchers issue --template tpl_01 --external-id order-1 --recipient user-1'
  const told = await cli(`${issue} --base-url ${baseUrl}`, { env: secrets })
  expect([told.exit, received.length]).toEqual([0, 2])
  expect(told.stdout).toContain(
    'Replayed: first done at 2026-11-21 10:00:00Z; the voucher was redeemed since (2026-11-22 08:00:00Z).',
  )
  expect(told.stdout).toContain(redeemCode)
})

test('vouchers issue --chat does not look up a replayed voucher, because bots cannot call verify', async () => {
  const { baseUrl, received } = await stub(() => ({ ...success(issuedVoucher), headers: replayed }))
  const issue = 'vouchers issue --template tpl_01 --external-id order-1 --chat chat_1'
  const told = await cli(`${issue} --base-url ${baseUrl}`, { env: secrets })
  expect([told.exit, told.stderr, received.length]).toEqual([0, '', 1])
  expect(told.stdout).toContain('Replayed: first done at')
})
