import { parseBaseUrl } from '../../../client/base-url.js'
import { checkRedeemCode } from '../../../client/redeem-code.js'
import { isLoopbackHost } from '../../../contract/loopback.js'
import type { Credential } from '../../../contract/vouchers.js'
import type { Context } from '../../command/context.js'
import { type Failure, fail, usage } from '../../failure.js'
import { text } from '../../flags/flags.js'
import { remember } from '../../host/scrub.js'

export const credentialFlags = {
  code: text('CODE|-', 'Redeem code as typed, or - to read it from stdin'),
  'qr-token': text('TOKEN|-', 'QR data as scanned, or - to read it from stdin'),
}

interface CredentialGiven {
  readonly code: string | undefined
  readonly 'qr-token': string | undefined
}

type CredentialResult = { readonly ok: true; readonly value: Credential } | Failure

/** The credential from its flag, from stdin or from a prompt. */
export async function readCredential(context: Context, flags: CredentialGiven): Promise<CredentialResult> {
  const { code, 'qr-token': qrToken } = flags
  if (code !== undefined && qrToken !== undefined) return usage('--code and --qr-token name two credentials; give one.')
  if (qrToken !== undefined) {
    const value = await read(context, '--qr-token', qrToken)
    if (!value.ok) return value
    remember(context.host, value.text)
    return { ok: true, value: { type: 'qr_token', value: value.text } }
  }
  const value = code === undefined ? await askCode(context) : await read(context, '--code', code)
  if (!value.ok) return value
  for (const form of formsOf(value.text)) remember(context.host, form)
  return checkCode(context, value.text) ?? { ok: true, value: { type: 'redeem_code', value: value.text } }
}

/** The code as typed, and the forms in which a server may return it. */
function formsOf(code: string): string[] {
  const symbols = code.replace(/[\s-]/g, '').toUpperCase()
  return [code, symbols, symbols.replace(/(.{4})(?=.)/g, '$1-')]
}

async function askCode(context: Context): Promise<{ ok: true; text: string } | Failure> {
  const { required } = await import('../../command/required.js')
  const asked = await context.ask(
    () => required(['--code or --qr-token']),
    (questions) => questions.text('Redeem code'),
  )
  return asked.ok ? { ok: true, text: asked.value } : asked
}

/** A credential is one line; the line feed after it does not belong to it. */
async function read({ host, globals }: Context, flag: string, value: string) {
  if (value !== '-') return { ok: true, text: value } as const
  if (globals['token-file'] === '-') return usage(`${flag} and --token-file cannot both read stdin.`)
  const { readTextFile } = await import('../../host/files.js')
  const content = await readTextFile(host, '-')
  if (!content.ok) return content
  const line = content.text.trim()
  return line === ''
    ? fail('INVALID_INPUT', `Standard input holds no value for ${flag}.`)
    : ({ ok: true, text: line } as const)
}

/** Finds a typing error before the call if the server is known to use codes of this form. */
function checkCode({ settings }: Context, code: string): Failure | undefined {
  const { value: baseUrl } = settings.baseUrl
  const known =
    settings.profile.codes === 'reference' || (baseUrl !== undefined && isLoopbackHost(parseBaseUrl(baseUrl).hostname))
  const check = known ? checkRedeemCode(code) : 'ok'
  if (check === 'ok') return undefined
  const message =
    check === 'malformed'
      ? 'This is not a redeem code: 16 symbols, as XXXX-XXXX-XXXX-XXXX.'
      : 'The redeem code is mistyped: its check symbol does not fit.'
  return fail('REDEEM_CODE_MISTYPED', message, 'Type it again. QR data goes with --qr-token.')
}
