import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { proveScript, redeemVoucher } from '../../../support/prove/scripts.js'

const refused = 'vouchers.redeem#1/refused_404'
/** A till that ignores whether its redemption succeeded. */
const unchecked = `${redeemVoucher} || true`

test('prove names the finding, its timeline, its cure and how to repeat it', { tags: 'prove/1' }, async () => {
  const { exit, stdout, stderr } = await proveScript(unchecked, ['--only', refused])
  expect([exit, stderr]).toEqual([1, ''])
  expect(stdout).toMatch(/^✗ goods_given_away: Your program said done, but the voucher is not redeemed: /)
  expect(stdout).toMatch(/\n +refused_404\nvouchers\.redeem#1 +goods_given_away\n/)
  expect(stdout).toMatch(/\n +0\.\d{3} s {2}program {3}started\n/)
  expect(stdout).toMatch(/ s {2}call {6}vouchers\.redeem#1: 404 VOUCHER_NOT_FOUND, key 1\n/)
  expect(stdout).toMatch(/ s {2}program {3}said done \(exit code 0\)\n/)
  expect(stdout).toMatch(/\n {2}Usual fix: Say done only after a success/)
  expect(stdout).toMatch(/\n {2}Repeat it: voucherctl prove --only 'vouchers\.redeem#1\/refused_404' -- sh -c /)
  expect(stdout).toMatch(/\nNot proved:\n {2}Deliveries, because there is no --webhook\.\n/)
})

test('prove --json prints one document with the same', async () => {
  const { exit, stdout } = await proveScript(unchecked, ['--only', refused, '--json'])
  expect(exit).toBe(1)
  expect(JSON.parse(stdout)).toMatchObject({
    runs: { undisturbed: 2, variants: 1, held: 0, no_effect: 0, not_run: 0 },
    calls: [{ call: 'vouchers.redeem#1', status: 200 }],
    deliveries: [],
    results: [{ variant: refused, result: 'goods_given_away' }],
    findings: [{ finding: 'goods_given_away', weight: 'money', variants: [refused] }],
  })
})

test('prove exits with 0 if nothing is found', async () => {
  const { exit, stdout } = await proveScript(redeemVoucher, ['--only', refused])
  expect(exit).toBe(0)
  expect(stdout).toMatch(/^✓ Nothing found: the variant held\.\n/)
})

test('prove --fail-on money reports a secret, and exits with 0', { tags: 'prove/1' }, async () => {
  const chatty = `echo "$VOUCHERCTL_CODE"; ${redeemVoucher}`
  const flags = ['--only', 'vouchers.redeem#1/refuse_connection', '--fail-on', 'money']
  const { exit, stdout } = await proveScript(chatty, flags)
  expect(exit).toBe(0)
  expect(stdout).toMatch(/^✗ secret_shown: Your program printed the code of the voucher in stdout of the action\.\n/)
  expect(stdout).not.toMatch(/[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}/)
})

test('prove --list names the variants, and --only undisturbed runs none of them', async () => {
  const { exit, stdout } = await proveScript(unchecked, ['--list'])
  expect(exit).toBe(0)
  expect(stdout.trimEnd().split('\n')).toContain(refused)
  expect(await proveScript(unchecked, ['--only', 'undisturbed'])).toMatchObject({ exit: 0 })
})

test('prove writes a JUnit report and a scenario of the first finding', async () => {
  const { home } = await proveScript(unchecked, [
    '--only',
    refused,
    '--junit',
    'report.xml',
    '--scenario',
    'found.yaml',
  ])
  expect(readFileSync(join(home, 'report.xml'), 'utf8')).toMatch(
    /<testcase [^>]*name="vouchers\.redeem#1\/refused_404"[^>]*>\s*<failure message="goods_given_away: /,
  )
  expect(readFileSync(join(home, 'found.yaml'), 'utf8')).toContain('VOUCHER_NOT_FOUND')
})

test('prove gives the programs variables of other names, but no credentials of the user', async () => {
  const script = `[ "$SHOP_URL" = "$VOUCHERCTL_BASE_URL/v1" ] && [ -z "$VOUCHERCTL_ACCOUNT_JWT" ] && ${redeemVoucher}`
  const flags = ['--env', 'SHOP_URL={base_url}/v1', '--only', refused]
  expect(await proveScript(script, flags)).toMatchObject({ exit: 0 })
})

test('prove --jobs 2 finds the same as one job', async () => {
  const { exit, stdout } = await proveScript(unchecked, ['--jobs', '2', '--budget', '1s', '--json'])
  expect([exit, JSON.parse(stdout).findings[0].finding]).toEqual([1, 'goods_given_away'])
})
