import { expect, test } from 'vitest'
import { remember, scrub, scrubAll } from '../../../src/cli/host/secrets.js'
import { cli, redeemCode, refusal, secrets, stub, success } from '../../support/cli/cli.js'
import { app, qrToken, token } from '../../support/cli/samples.js'

const host = () => ({ env: {} })

test.each([
  [`x ${secrets.VOUCHERCTL_TOKEN} y`, 'x sop_CANA… y'],
  [`x ${secrets.VOUCHERCTL_BOT_TOKEN}`, 'x sbot_CAN…'],
  [`Bearer ${secrets.VOUCHERCTL_OPERATOR_KEY}.`, 'Bearer opk_….'],
  [`"${secrets.VOUCHERCTL_JWT}"`, '"eyJ…"'],
  [`code ${redeemCode}, ${qrToken}`, 'code …T4FJ, …Y0YZ'],
  ['M9S3 46Q3 D25V T4FJ', '…T4FJ'],
  ['M9S346Q3D25VT4FJ', '…T4FJ'],
  ['m9s3-46q3-d25v-t4fj', '…t4fj'],
  [`--foo=${redeemCode.toLowerCase()}`, '--foo=…t4fj'],
  ['key redeem-m9s3-46q3-d25v-t4fj-1', 'key redeem-…t4fj-1'],
  [qrToken.toLowerCase(), '…y0yz'],
])('scrub() shortens a secret in "%s"', { tags: 'hidden-values/1' }, (text, shown) => {
  expect(scrub(host(), text)).toBe(shown)
})

test.each([
  'request: req_01M7Z2B628PV03JD54VP7PE4GS',
  'no such token tok_01M7Z28BBK83DD78A3TH3ZZ9XM',
  'one of sop_, sbot_ or opk_',
  'key 0b2f6a1e-1c2d-4e3f-8a9b-0c1d2e3f4a5b',
  'sha256:OS1SdPMvxjrnaM7Mx8GZwIzZLS7z0mYCLzvJ9bZXScA',
  'profiles list --json',
  'A template file that contains it',
])('scrub() does not change "%s", which contains no secret', (text) => expect(scrub(host(), text)).toBe(text))

test('scrub() hides remembered secrets in text, JSON and URLs, except short ones', { tags: 'hidden-values/1' }, () => {
  const run = host()
  remember(run, 'a "b" c\\d/e')
  remember(run, 'short')
  expect(scrub(run, 'was a "b" c\\d/e')).toBe('was [secret]')
  expect(scrub(run, JSON.stringify({ was: 'a "b" c\\d/e' }))).toBe('{"was":"[secret]"}')
  expect(scrub(run, `?q=${encodeURIComponent('a "b" c\\d/e')}`)).toBe('?q=[secret]')
  expect(scrub(run, 'a short text')).toBe('a short text')
  expect(scrub(host(), 'was a "b" c\\d/e')).toBe('was a "b" c\\d/e')
  expect(scrubAll(run, { a: ['a "b" c\\d/e', 1, null] })).toEqual({ a: ['[secret]', 1, null] })
})

test('scrub() hides the values of secret environment variables', () => {
  const env = { VOUCHERCTL_WEBHOOK_SECRET: 'webhook-secret-1' }
  expect(scrub({ env }, 'saw webhook-secret-1')).toBe('saw [secret]')
})

test('vouchers verify prints an error without the code, in any spelling', { tags: 'hidden-values/1' }, async () => {
  const typed = 'm9s3 46q3 d25v t4fj'
  const spellings = [typed, 'M9S346Q3D25VT4FJ', redeemCode]
  const { baseUrl } = await stub(() => refusal(400, 'VALIDATION_FAILED', { spellings }))
  for (const format of ['--json', '--output=table']) {
    const args = ['vouchers', 'verify', '--code', '-', '--base-url', baseUrl, format]
    const ran = await cli(args, { env: secrets, stdin: typed })
    expect([ran.exit, ran.stdout]).toEqual([8, ''])
    expect(ran.stderr).not.toMatch(/46q3/i)
  }
})

test.each(['m9s3-46q3-d25v-t4fj', 'M9S3 46Q3 D25V T4FJ', 'M9S346Q3D25VT4FJ'])(
  'vouchers with "%s" in place of a command refuses it without the code',
  async (typed) => {
    const { exit, stderr } = await cli(['vouchers', typed])
    expect(exit).toBe(2)
    expect(stderr).not.toMatch(/46q3/i)
  },
)

test('a command shortens a token that was typed as another argument', { tags: 'hidden-values/1' }, async () => {
  const { baseUrl } = await stub(() => success(app))
  for (const args of [
    ['apps', 'list', `--token=${secrets.VOUCHERCTL_TOKEN}`],
    ['apps', secrets.VOUCHERCTL_TOKEN],
    ['apps', 'get', secrets.VOUCHERCTL_TOKEN, '--debug', '--base-url', baseUrl],
    ['apps', 'get', secrets.VOUCHERCTL_TOKEN, '--dry-run', '--base-url', baseUrl],
    ['profiles', 'show', secrets.VOUCHERCTL_TOKEN],
  ]) {
    const ran = await cli(args, { env: secrets })
    expect(ran.stderr + (args.includes('--debug') ? '' : ran.stdout)).toMatch(/sop_CANA…/)
    expect(ran.stderr + ran.stdout).not.toContain(secrets.VOUCHERCTL_TOKEN)
  }
})

test('tokens revoke --dry-run prints the token id, which is not a secret', async () => {
  const { baseUrl } = await stub(() => success(token))
  const ran = await cli(`tokens revoke tok_01 --app app_01 --dry-run --base-url ${baseUrl}`, { env: secrets })
  expect(ran.stdout).toContain('/tokens/tok_01')
})
