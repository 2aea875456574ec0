import { checkRedeemCode, readQrData } from '../../contract/credential-symbols.js'
import type { Credential } from '../../contract/vouchers.js'
import type { Context, Ok } from '../command/context.js'
import { type Failure, fail, usage } from '../failures/failure.js'
import { at, text, type ValuesOf } from '../flags/flags.js'
import { remember } from '../host/secrets.js'

/** Paragraph of help of commands that take a credential. */
export const secret = 'Voucher codes and QR data are redemption credentials: keep them from unrelated parties.'

export const credentialFlags = {
  code: at(['credential'], text('CODE|-', 'The same, always as a redeem code')),
  'qr-token': at(['credential'], text('TOKEN|-', 'The same, always as QR data')),
}

export const credentialOperand = {
  name: 'CODE',
  summary: 'Redeem code or QR data, or - to read it from stdin',
  member: 'credential',
}

/** Argument and flags of commands that also find a voucher by other means (`readVoucher`). */
export const anyVoucher = {
  operand: { name: 'ID|CODE', summary: 'Redemption id, redeem code or QR data, or - to read it from stdin' },
  flags: { ...credentialFlags, 'external-id': text('ID|-', 'External id instead, on a local server') },
}

/** Forms of a redeem code as people type it. A longer text, or one with other symbols, is QR data (rules/cli.md#codes-as-arguments). */
const REDEEM_CODE = /^[\p{Letter}\p{Number}\p{White_Space}\p{Dash}\p{Default_Ignorable_Code_Point}]{1,40}$/iu

const QR_PREFIX = 'VQ1-'
const isRedeemCode = (value: string) => REDEEM_CODE.test(value) && !readQrData(value).startsWith(QR_PREFIX)

type CredentialFlags = ValuesOf<typeof credentialFlags>

/** Reads a redeem code or QR token from the argument or its flag, from stdin, or from a prompt. */
export async function readCredential(
  context: Context,
  operand: string | undefined,
  flags: CredentialFlags,
): Promise<Ok<Credential> | Failure> {
  const typed = await readTyped(context, operand, flags)
  return typed.ok ? credentialOf(context, typed.value, flags) : typed
}

/**
 * Reads a typed credential, or another value that the command accepts in the same place.
 * @param question asks for a missing value
 * @param instead what to pass on the command line, without a terminal
 */
export async function readTyped(
  context: Context,
  operand: string | undefined,
  flags: CredentialFlags & { readonly 'external-id'?: string | undefined; readonly redemption?: string | undefined },
  question = 'Redeem code or QR data',
  instead = '--code or --qr-token',
): Promise<Ok<string> | Failure> {
  const names = ['code', 'qr-token', 'external-id', 'redemption'] as const
  const given = [['CODE', operand], ...names.map((it) => [`--${it}`, flags[it]])].filter(
    (it): it is [string, string] => it[1] !== undefined,
  )
  if (given.length > 1) return usage(`${given.map(([name]) => name).join(' and ')} name two vouchers; give one.`)
  return given[0] === undefined ? askCode(context, question, instead) : read(context, ...given[0])
}

/** Decides whether a typed value is a redeem code or a QR token. */
export function credentialOf(
  context: Context,
  value: string,
  { code, 'qr-token': qrToken }: CredentialFlags,
): Ok<Credential> | Failure {
  for (const form of formsOf(value)) remember(context.host, form)
  if (qrToken !== undefined || (code === undefined && !isRedeemCode(value))) {
    const read = readQrData(value)
    // QR data of another platform may be case-sensitive.
    return { ok: true, value: { type: 'qr_token', value: read.startsWith(QR_PREFIX) ? read : value } }
  }
  return checkCode(context, value) ?? { ok: true, value: { type: 'redeem_code', value } }
}

/** Returns all spellings with which a server may repeat a typed code, with and without separators, to hide them. */
export function formsOf(code: string): string[] {
  const symbols = code.replace(/[\s-]/g, '').toUpperCase()
  return [code, symbols, symbols.replace(/(.{4})(?=.)/g, '$1-'), readQrData(code)]
}

async function askCode(context: Context, question: string, instead: string): Promise<Ok<string> | Failure> {
  const { required } = await import('./required.js')
  const asked = await context.ask(
    () => required([instead]),
    (questions) => questions.text(question, (it) => mistakeIn(context, it.trim())),
  )
  // The printed command line reads the code from stdin, so that it does not contain the code.
  if (asked.ok) context.line.answer(0, ['-'])
  return asked
}

const mistakeIn = (context: Context, typed: string) =>
  isRedeemCode(typed) ? checkCode(context, typed)?.message : undefined

/** Reads a redeem code or QR token from a text of one line, without its line feed. */
async function read({ host, globals }: Context, flag: string, value: string): Promise<Ok<string> | Failure> {
  if (value !== '-') return { ok: true, value }
  if (globals['token-file'] === '-') return usage(`${flag} and --token-file cannot both read stdin.`)
  const { readTextFile } = await import('../host/files.js')
  const content = await readTextFile(host, '-')
  if (!content.ok) return content
  const line = content.text.trim()
  return line === '' ? fail('INVALID_INPUT', `Standard input holds no value for ${flag}.`) : { ok: true, value: line }
}

/** Refuses a mistyped code before the call if codes have the form of the reference server. */
function checkCode({ settings }: Context, code: string): Failure | undefined {
  const check = settings.hasReferenceCodes ? checkRedeemCode(code) : 'ok'
  if (check === 'ok') return undefined
  const message =
    check === 'malformed'
      ? 'This is not a redeem code, which has 16 letters and digits in four groups.'
      : 'The redeem code is mistyped: its check symbol does not fit.'
  return fail('REDEEM_CODE_MISTYPED', message, 'Type it again. QR data goes with --qr-token.')
}
