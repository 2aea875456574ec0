import { expect, test } from 'vitest'
import { cli, redeemCode, secrets, stub, success } from '../../support/cli/cli.js'
import { verification } from '../../support/cli/samples.js'

const qrToken = `VQ1-${'0123456789ABCDEFGHJKMNPQRSTVWXYZ'}0`

test.each([
  [redeemCode, '', { type: 'redeem_code', value: redeemCode }],
  [qrToken, '', { type: 'qr_token', value: qrToken }],
  [qrToken.toLowerCase(), '', { type: 'qr_token', value: qrToken }],
  [`]Q1${qrToken}`, '', { type: 'qr_token', value: qrToken }],
  [`\u0085]Q1 ${qrToken}\u0085`, '', { type: 'qr_token', value: qrToken }],
  [`\u200e${qrToken.toLowerCase()}`, '', { type: 'qr_token', value: qrToken }],
  ['-', `]d2${qrToken.toLowerCase()}\r\n`, { type: 'qr_token', value: qrToken }],
  [`--qr-token=${redeemCode}`, '', { type: 'qr_token', value: redeemCode }],
  ['A'.repeat(41), '', { type: 'qr_token', value: 'A'.repeat(41) }],
  ['https://shop.example/v/1', '', { type: 'qr_token', value: 'https://shop.example/v/1' }],
  ['-', `${redeemCode}\n`, { type: 'redeem_code', value: redeemCode }],
  ['-', `${qrToken}\n`, { type: 'qr_token', value: qrToken }],
])('the argument %s is sent with its type', { tags: 'codes-as-arguments/1' }, async (operand, stdin, credential) => {
  const { baseUrl, received } = await stub(() => success(verification))
  const { exit } = await cli(['vouchers', 'verify', operand, '--base-url', baseUrl], { env: secrets, stdin })
  expect(exit).toBe(0)
  expect(received[0]?.body).toEqual({ credential })
})

test('--code sends a text that looks like QR data as a redeem code', { tags: 'codes-as-arguments/1' }, async () => {
  const { baseUrl, received } = await stub(() => success(verification))
  const args = ['vouchers', 'verify', '--code', 'a.b', '--base-url', baseUrl]
  expect((await cli(args, { env: secrets })).stderr).toContain('This is not a redeem code')
  expect(received).toEqual([])
})
