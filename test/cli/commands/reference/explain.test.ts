import { expect, test } from 'vitest'
import { explainedCodes, explanationOf } from '../../../../src/cli/failures/codes.js'
import { explanationText } from '../../../../src/cli/output/failure-text.js'
import { failures } from '../../../../src/contract/errors.js'
import { cli } from '../../../support/cli/cli.js'
import { unrunnable } from '../../../support/cli/runnable.js'

test('every code of both tables has a meaning and a fix whose commands can be run', async () => {
  expect(explainedCodes).toEqual(expect.arrayContaining(Object.keys(failures)))
  const all = explainedCodes.map((code) => explanationOf(code, {}))
  for (const found of all) {
    for (const text of [found?.meaning, found?.causes, found?.fix].filter((it) => it !== null))
      expect(text).toMatch(/^[^ ].*\.$/)
    expect(found?.exit).toBeGreaterThan(0)
  }
  expect(await unrunnable(all.map((it) => it?.fix).join('\n'))).toEqual([])
  const pages = all.map((it) => it && explanationText(it)).join('\n')
  expect(pages.split('\n').filter((it) => it.length > 80)).toEqual([])
  expect(pages).not.toMatch(/details\./)
})

test.each(['explain', 'help'])('%s explains a code in any case, as JSON too', async (command) => {
  const { exit, stdout } = await cli(`${command} voucher_already_redeemed`)
  expect([exit, stdout.split('\n')]).toEqual([
    0,
    [
      'VOUCHER_ALREADY_REDEEMED: The voucher is already redeemed.',
      '',
      'Causes: It was presented before, or the response to the first redemption was',
      '  lost.',
      'What to do: Nothing was redeemed. `voucherctl vouchers reverse` takes a',
      '  redemption back.',
      '',
      'HTTP status 409, exit code 6; repeating it unchanged does not help.',
      '',
    ],
  ])
  expect(JSON.parse((await cli(`${command} BASE_URL_REQUIRED --json`)).stdout)).toMatchObject({ status: null, exit: 3 })
})

test('explain omits causes if meaning and fix say enough', async () => {
  expect((await cli('explain VOUCHER_EXPIRED')).stdout).not.toContain('Causes:')
  expect(JSON.parse((await cli('explain VOUCHER_EXPIRED --json')).stdout)).toMatchObject({ causes: null })
})

test('explain suggests a known code for a mistyped one, with npx if npx runs voucherctl', async () => {
  const mistyped = await cli('explain VOUCHER_EXPIRD')
  expect([mistyped.exit, mistyped.stderr]).toEqual([2, expect.stringContaining('Did you mean VOUCHER_EXPIRED?')])
  expect((await cli('explain nonsense')).stderr).toContain('`voucherctl help exit-codes`')
  expect((await cli('help nonsense')).exit).toBe(2)
  expect((await cli('explain TOKEN_EXPIRED', { env: { npm_command: 'exec' } })).stdout).toContain('`npx voucherctl')
})
