import { checkSymbol } from '../../../contract/credential-symbols.js'
import type { CredentialType } from '../../../contract/endpoint.js'
import { contract } from '../../../contract/index.js'
import type { Verification } from '../../../contract/vouchers.js'
import type { Members } from '../../../values/json.js'
import { credentialOf, voucher } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { Observed, ProbeContext } from '../../probe-context.js'
import { membersOrNone } from '../../wire.js'
import { issueCall, issued, redeemCall } from './shared.js'

const probe = probesOf('credentials', { kind: 'money', needs: ['token', 'template'] })
const tokenRead = probe.with({ needs: ['token'], reads: true })
const { getRedemption, redeem, verify } = { ...contract.vouchers, getRedemption: contract.vouchers.redemption }

/** The symbols of Crockford's base 32, as a character class of a pattern. */
const SYMBOL = '[0-9A-HJKMNP-TV-Z]'
const CODE = new RegExp(`^${SYMBOL}{4}(?:-${SYMBOL}{4}){3}$`)
const QR_TOKEN = new RegExp(`^VQ1-${SYMBOL}{33}$`)

/** Formats 15 symbols as a redeem code, with check symbol and dashes. */
const redeemCodeOf = (symbols: string) => `${symbols}${checkSymbol(symbols)}`.replaceAll(/(.{4})(?=.)/g, '$1-')

const otherSymbol = (symbol: string) => (symbol === '0' ? '1' : '0')

/** Credentials of no voucher; with 75 and 160 bits, a match by chance is impossible. */
const UNKNOWN_CODE = redeemCodeOf('0101Z7QX1010K3W')
const UNKNOWN_SYMBOLS = '01Z7QX10K3WM9S34601Z7QX10K3WM9S3'
const UNKNOWN_QR_TOKEN = `VQ1-${UNKNOWN_SYMBOLS}${checkSymbol(UNKNOWN_SYMBOLS)}`

const check = (run: ProbeContext, type: string, value: string): Promise<Observed<Verification>> =>
  run.call(verify, { credential: { type, value } })

const valueOf = async (it: ProbeContext, type: CredentialType) => credentialOf(it, await issued(it), type).value

/** Defines a probe that verifies a voucher code in another spelling. */
const normalises = (name: string, form: string, change: (code: string) => string) =>
  probe(3, name, `A redeem code ${form} is the same code.`, async (run) => {
    const { id } = await issued(run)
    const code = await valueOf(run, 'redeem_code')
    run.equals('id of the voucher', run.succeeds(await check(run, 'redeem_code', change(code))).voucher.id, id)
  })

/** Defines a probe for a malformed value. */
const isMalformed = (name: string, title: string, type: string, value: string) =>
  probe.with({ needs: ['token'] })(5, name, title, async (it) => it.refuses(await check(it, type, value), 400))

/** Defines a probe for a well-formed value of no voucher. */
const isUnknown = (name: string, title: string, type: CredentialType, value: string) =>
  tokenRead(5, name, title, async (run) => run.refuses(await check(run, type, value), 404, 'VOUCHER_NOT_FOUND'))

const withWrongSymbol = (value: string, at: number) =>
  `${value.slice(0, at)}${otherSymbol(value.charAt(at))}${value.slice(at + 1)}`

const failsCheck = (name: string, title: string, type: CredentialType, value: string) =>
  tokenRead(5, name, title, async (run) =>
    run.equals('credential_check', (await check(run, type, value)).details.credential_check, 'failed'),
  )

export const credentials = [
  probe(4, 'in-the-issue', "An issue's data has credentials: a list of objects with type and value.", async (run) => {
    const { data, status } = (await issueCall(run)).response
    if (status > 299) run.notApplicable('Needs an issued voucher.')
    const list: readonly unknown[] = Array.isArray(data.credentials) ? data.credentials : []
    const isCredential = ({ type, value }: Members) =>
      (type === 'redeem_code' || type === 'qr_token') && typeof value === 'string' && value !== ''
    const isComplete = list.length > 0 && list.map(membersOrNone).every(isCredential)
    run.holds(isComplete, 'a list of redeem_code and qr_token, each with a value', data?.credentials)
  }),
  probe(4, 'only-in-the-issue', 'No other response contains a credential of the voucher.', async (run) => {
    const { voucher: one, input, response } = await redeemCall(run)
    const { id } = run.needs(response, 'a redemption')
    const verified = await run.call(verify, input)
    const read = await run.call(getRedemption, { redemptionId: id })
    const texts = [response, verified, read].map(({ text }) => text)
    const shown = one.credentials.filter(({ value }) => texts.some((text) => text.includes(value)))
    const types = shown.map(({ type }) => type)
    run.equals('credentials in responses to redeem, verify and read', types, [])
  }),
  probe(2, 'code-form', 'A redeem code has 16 symbols in groups of four.', async (run) => {
    const code = await valueOf(run, 'redeem_code')
    run.holds(CODE.test(code), "16 symbols of Crockford's base 32 in groups of four", code)
  }),
  probe(2, 'code-check', 'The last symbol of a redeem code is its check symbol.', async (run) => {
    const symbols = (await valueOf(run, 'redeem_code')).replaceAll('-', '')
    if (symbols.length !== 16) run.notApplicable('Needs a redeem code of 16 symbols.')
    run.equals('check symbol', symbols.slice(15), checkSymbol(symbols.slice(0, 15)))
  }),
  probe(3, 'qr-form', 'A QR token is VQ1- and 33 symbols.', async (run) => {
    const token = await valueOf(run, 'qr_token')
    run.holds(QR_TOKEN.test(token), "VQ1- and 33 symbols of Crockford's base 32", token)
  }),
  probe(3, 'qr-check', 'The last symbol of a QR token is its check symbol.', async (run) => {
    const symbols = (await valueOf(run, 'qr_token')).slice(4)
    if (symbols.length !== 33) run.notApplicable('Needs a QR token of VQ1- and 33 symbols.')
    run.equals('check symbol', symbols.slice(32), checkSymbol(symbols.slice(0, 32)))
  }),
  probe(4, 'code-hint', 'codeHint has the last four symbols of the redeem code.', async (run) => {
    run.equals('codeHint', (await issued(run)).codeHint, (await valueOf(run, 'redeem_code')).slice(-4))
  }),
  ...(['redeem_code', 'qr_token'] as const).map((type) =>
    probe.specified(1, `verify-${type}`, `Verify accepts a ${type} of an issue unchanged.`, async (run) => {
      const one = await issued(run)
      const credential = credentialOf(run, one, type)
      run.equals('id of the voucher', run.succeeds(await run.call(verify, { credential })).voucher.id, one.id)
    }),
  ),
  probe.specified(1, 'redeem-redeem_code', 'Redeem accepts a redeem_code of an issue unchanged.', async (run) => {
    run.succeeds((await redeemCall(run)).response)
  }),
  probe
    .with({ vouchers: 1 })
    .specified(1, 'redeem-qr_token', 'Redeem accepts a qr_token of an issue unchanged.', async (run) => {
      const credential = credentialOf(run, await voucher(run), 'qr_token')
      run.succeeds(await run.call(redeem, { credential }))
    }),
  normalises('lower-case', 'in lower case', (code) => code.toLowerCase()),
  normalises('without-dashes', 'without dashes', (code) => code.replaceAll('-', '')),
  normalises('other-dashes', 'with other dashes', (code) => code.replaceAll('-', '\u2013')),
  normalises('spaces', 'with spaces', (code) => ` ${code.replaceAll('-', '  ')} `),
  normalises('zero-width', 'with zero-width characters', (code) => code.replaceAll('-', '\u200b')),
  normalises('full-width', 'in full-width characters, as NFKC reads it,', (code) =>
    code.replaceAll(/[0-9A-Z]/g, (symbol) => String.fromCodePoint((symbol.codePointAt(0) as number) + 0xfee0)),
  ),
  ...[
    { letter: 'O', digit: '0' },
    { letter: 'I', digit: '1' },
    { letter: 'L', digit: '1' },
  ].map(({ letter, digit }) =>
    tokenRead(3, `letter-${letter.toLowerCase()}`, `${letter} in a redeem code is read as ${digit}.`, async (run) => {
      const asIssued = run.needsRefusal(await check(run, 'redeem_code', UNKNOWN_CODE), 404)
      const typed = await check(run, 'redeem_code', UNKNOWN_CODE.replaceAll(digit, letter))
      run.refuses(typed, 404, asIssued.code)
      run.equals('credential_check', typed.details.credential_check, asIssued.details.credential_check)
    }),
  ),
  probe(3, 'qr-white-space', 'White space around a QR token is removed.', async (run) => {
    const token = await valueOf(run, 'qr_token')
    run.succeeds(await check(run, 'qr_token', ` ${token}\n`))
  }),
  probe(3, 'qr-lower-case', 'A QR token in lower case is the same token.', async (run) => {
    run.succeeds(await check(run, 'qr_token', (await valueOf(run, 'qr_token')).toLowerCase()))
  }),
  probe(3, 'qr-scanner', 'A QR token after the AIM identifier of a scanner is the same token.', async (run) => {
    run.succeeds(await check(run, 'qr_token', `]Q1${await valueOf(run, 'qr_token')}`))
  }),
  probe
    .with({ needs: ['token'] })
    .partly(1, 'other-type', 'A credential of another type is refused with 400.', async (it) =>
      it.refuses(await check(it, 'conform', UNKNOWN_CODE), 400),
    ),
  isMalformed('malformed-code', 'A malformed redeem code is refused with 400.', 'redeem_code', 'ABCD-EFGH'),
  isMalformed('malformed-qr-token', 'A malformed QR token is refused with 400.', 'qr_token', 'VQ2-ABCD'),
  isUnknown('unknown-code', 'An unknown redeem code is 404 VOUCHER_NOT_FOUND.', 'redeem_code', UNKNOWN_CODE),
  isUnknown('unknown-qr-token', 'An unknown QR token is 404 VOUCHER_NOT_FOUND.', 'qr_token', UNKNOWN_QR_TOKEN),
  isUnknown(
    'code-with-a-wrong-symbol',
    'A redeem code whose check symbol is wrong is 404 VOUCHER_NOT_FOUND.',
    'redeem_code',
    withWrongSymbol(UNKNOWN_CODE, 3),
  ),
  failsCheck(
    'failed-check-of-a-code',
    'A redeem code whose check symbol is wrong has the detail credential_check: failed.',
    'redeem_code',
    withWrongSymbol(UNKNOWN_CODE, 3),
  ),
  failsCheck(
    'failed-check-of-a-qr-token',
    'A QR token whose check symbol is wrong has the detail credential_check: failed.',
    'qr_token',
    withWrongSymbol(UNKNOWN_QR_TOKEN, 8),
  ),
  tokenRead(5, 'passed-check', 'An unknown code with the right check symbol has no credential_check.', async (run) => {
    const { details } = run.needsRefusal(await check(run, 'redeem_code', UNKNOWN_CODE), 404)
    run.holds(details.credential_check !== 'failed', 'no credential_check: failed', details)
  }),
]
