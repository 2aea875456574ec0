import { join, resolve } from 'node:path'
import type { Failure } from '../failure.js'
import { fail } from '../failure.js'
import { readSecret } from '../files.js'
import { text } from '../flags.js'
import type { Host } from '../host.js'
import { defaultDataDir } from '../local-server.js'
import { codeOf } from '../config.js'

export const inboxFlag = { inbox: text('DIR', 'Folder of the deliveries, default $XDG_DATA_HOME/voucherctl/inbox') }

export const inboxDirOf = (host: Host, named: string | undefined) =>
  resolve(host.cwd, named ?? join(defaultDataDir(host), 'inbox'))

/** For what the file system says; anything else is a bug. */
export function inboxFailure(error: unknown, dir: string): Failure {
  if (!(error instanceof Error && 'syscall' in error)) throw error
  const code = codeOf(error)
  return fail('FILE_UNWRITABLE', `The inbox ${dir} cannot be used (${code}).`, 'Choose another folder with --inbox.')
}

/** Secrets of the files, else the one of the environment; none when neither names one. */
export async function readWebhookSecrets(
  host: Host,
  files: readonly string[],
): Promise<{ readonly ok: true; readonly secrets: readonly string[] } | Failure> {
  if (files.filter((it) => it === '-').length > 1) {
    return fail('USAGE', 'Only one --secret-file can read standard input.')
  }
  const secrets: string[] = []
  for (const file of files) {
    const read = await readSecret(host, file === '-' ? file : resolve(host.cwd, file))
    if (!read.ok) return read
    secrets.push(read.text)
  }
  const variable = host.env.VOUCHERCTL_WEBHOOK_SECRET
  return { ok: true, secrets: secrets.length > 0 || !variable ? secrets : [variable] }
}

export const secretRequired = () =>
  fail(
    'INPUT_REQUIRED',
    'Missing: the secret that signs the deliveries.',
    'Give it with --secret-file FILE or VOUCHERCTL_WEBHOOK_SECRET.',
    { missing: ['--secret-file'] },
  )

/** An application that deliveries are sent to. */
export function readAppUrl(it: string): { readonly ok: true; readonly value: URL } | { ok: false; message: string } {
  const url = URL.canParse(it) ? new URL(it) : undefined
  if (url === undefined || !['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.password !== '') {
    return { ok: false, message: 'must be an http(s) URL without user name and password' }
  }
  return { ok: true, value: url }
}
