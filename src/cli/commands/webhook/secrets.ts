import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { defaultDataDir } from '../../../files/data-dir.js'
import { createFile, refuseForeignFile } from '../../../files/replace-file.js'
import { makeFolder } from '../../../files/sync-folder.js'
import { shellWord } from '../../../values/shell-word.js'
import type { Context } from '../../command/context.js'
import { type Failure, fail, usage } from '../../failures/failure.js'
import { oneSecret, readBytes, readSecret, tryToWrite } from '../../host/files.js'
import type { Host } from '../../host/host.js'
import { remember, webhookSecretVariable, withoutLineEnd } from '../../host/secrets.js'

type SecretsResult<T> = { readonly ok: true; readonly value: readonly T[] } | Failure

/** Refuses two flags of one command that would both read standard input. */
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

/** Reads the webhook secrets from files, else from the environment; the list may be empty. */
export async function namedSecrets(host: Host, files: readonly string[]): Promise<SecretsResult<string>> {
  const secrets: string[] = []
  for (const file of files) {
    const read = await readSecret(host, file)
    if (!read.ok) return read
    secrets.push(read.text)
  }
  const { VOUCHERCTL_WEBHOOK_SECRET: variable } = host.env
  if (secrets.length > 0 || withoutLineEnd(variable) === '') return { ok: true, value: secrets }
  const secret = oneSecret(host, variable ?? '', webhookSecretVariable, /\p{Cc}/u)
  return secret.ok ? { ok: true, value: [secret.text] } : secret
}

/** The file of the secret that `webhook listen --bot` makes; later runs use it again, so that the app need not change. */
export const keptSecretFile = (host: Host) => join(defaultDataDir(host), 'webhook-secret')

/** Reads the kept secret, or makes it. */
export async function keptSecret(host: Host): Promise<SecretsResult<string>> {
  const path = keptSecretFile(host)
  const unwritable = tryToWrite(path, 'Give another secret: --secret-file or VOUCHERCTL_WEBHOOK_SECRET.', () => {
    makeFolder(dirname(path))
    refuseForeignFile(path)
    if (!existsSync(path)) createFile(path, `${randomBytes(32).toString('base64url')}\n`, true)
  })
  const secret = unwritable ?? (await readSecret(host, path))
  return secret.ok ? { ok: true, value: [secret.text] } : secret
}

/** The line for a shell that gives an application the secret of a file. */
export const lineOfSecret = (path: string) => `export ${webhookSecretVariable}="$(cat ${shellWord(path)})"`

/** Reads webhook secrets for signing from files, the environment or a prompt (rules/workbench.md#workbench-secrets). */
export async function signingSecrets(context: Context, files: readonly string[]): Promise<SecretsResult<string>> {
  const named = await namedSecrets(context.host, files)
  return !named.ok || named.value.length > 0 ? named : askedSecret(context)
}

/** Reads webhook secrets for verification as exact bytes, so that --explain can find a mistake in them. */
export async function verifyingSecrets(
  context: Context,
  files: readonly string[],
): Promise<SecretsResult<string | Uint8Array>> {
  const secrets: Uint8Array[] = []
  for (const file of files) {
    const read = await readBytes(context.host, file)
    if (!read.ok) return read
    const secret = Buffer.from(withoutLineEnd(read.bytes.toString('latin1')), 'latin1')
    if (secret.length === 0) {
      return fail('INVALID_INPUT', `${file === '-' ? 'Standard input' : file} holds no secret.`)
    }
    remember(context.host, secret.toString('utf8'))
    secrets.push(secret)
  }
  return secrets.length > 0 ? { ok: true, value: secrets } : signingSecrets(context, [])
}

async function askedSecret(context: Context): Promise<SecretsResult<string>> {
  const missing = () =>
    fail(
      'INPUT_REQUIRED',
      'Missing: --secret-file.',
      'Give a file with --secret-file, or set VOUCHERCTL_WEBHOOK_SECRET. Both sides know the same one.',
      { missing: ['--secret-file'] },
    )
  const asked = await context.ask(missing, (questions) => questions.secret('Webhook secret (hidden)'))
  if (!asked.ok) return asked
  return asked.value === '' ? missing() : { ok: true, value: [asked.value] }
}
