import type { Context } from '../context.js'
import type { Failure } from '../failure.js'
import { fail, usage } from '../failure.js'
import { readBytes, readSecret } from '../files.js'

type Secrets<T> = { readonly ok: true; readonly value: readonly T[] } | Failure

/** Refused where two flags of one command name standard input. */
export function sharedStdin(
  { globals }: Context,
  files: Readonly<Record<string, string | readonly string[] | undefined>>,
): Failure | undefined {
  const named = Object.entries({ ...files, 'token-file': globals['token-file'] }).flatMap(([flag, paths]) =>
    [paths].flat().flatMap((path) => (path === '-' ? [`--${flag}`] : [])),
  )
  if (named.length < 2) return undefined
  const flags = [...new Set(named)]
  return usage(
    flags.length === 1
      ? `${flags[0]} - was given twice: standard input holds one file.`
      : `${flags.join(' and ')} cannot both read stdin.`,
  )
}

/** The secrets that sign: of the files, else of the environment, else asked for. */
export async function signingSecrets(context: Context, files: readonly string[]): Promise<Secrets<string>> {
  const secrets: string[] = []
  for (const file of files) {
    const read = await readSecret(context.host, file)
    if (!read.ok) return read
    secrets.push(read.text)
  }
  return secrets.length > 0 ? { ok: true, value: secrets } : unnamedSecret(context)
}

/** The secrets that verify, byte for byte: what is wrong with one must stay, so that it can be found. */
export async function verifyingSecrets(
  context: Context,
  files: readonly string[],
): Promise<Secrets<string | Uint8Array>> {
  const secrets: Uint8Array[] = []
  for (const file of files) {
    const read = await readBytes(context.host, file)
    if (!read.ok) return read
    const secret = withoutLineEnd(read.bytes)
    if (secret.length === 0) {
      return fail('INVALID_INPUT', `${file === '-' ? 'Standard input' : file} holds no secret.`)
    }
    secrets.push(secret)
  }
  return secrets.length > 0 ? { ok: true, value: secrets } : unnamedSecret(context)
}

async function unnamedSecret(context: Context): Promise<Secrets<string>> {
  const { VOUCHERCTL_WEBHOOK_SECRET: secret } = context.host.env
  if (secret) return { ok: true, value: [secret] }
  const missing = () =>
    fail(
      'INPUT_REQUIRED',
      'Missing: --secret-file.',
      'Give a file with --secret-file, or set VOUCHERCTL_WEBHOOK_SECRET. Nothing is sent unsigned.',
      { missing: ['--secret-file'] },
    )
  const asked = await context.ask(missing, (questions) => questions.secret('Webhook secret (hidden)'))
  if (!asked.ok) return asked
  return asked.value === '' ? missing() : { ok: true, value: [asked.value] }
}

/** One final LF or CRLF is the file's, not the secret's. */
function withoutLineEnd(bytes: Buffer): Buffer {
  if (bytes.at(-1) !== 0x0a) return bytes
  return bytes.subarray(0, bytes.at(-2) === 0x0d ? -2 : -1)
}
