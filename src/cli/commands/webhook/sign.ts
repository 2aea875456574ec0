import { readUpdate, signWebhook } from '../../../webhook/signature.js'
import type { Context } from '../../command/context.js'
import { leaf } from '../../command/leaf.js'
import { type Failure, fail, usage } from '../../failures/failure.js'
import { integer, list, one, requiredUnless, text } from '../../flags/flags.js'
import { type BytesResult, readBytes } from '../../host/files.js'
import { recordedDelivery, recordedFlags } from './inbox-dir.js'
import { sharedStdin, signingSecrets } from './secrets.js'

/** Flag that takes an update_id as digits, because a number would be rounded above 2^53 - 1. */
const updateIdFlag = (summary: string) =>
  one('N', summary, (text) =>
    /^\d{1,30}$/.test(text) ? { ok: true, value: text } : { ok: false, message: 'must be a whole number from 0' },
  )

export const timestampFlag = (summary: string) => integer('S', summary, 0, 999_999_999_999_999)

export const sign = leaf({
  name: 'sign',
  summary: 'Sign a body as the platform signs a delivery',
  notes: [
    'Prints the three headers of a delivery, a line each, as curl reads them with -H @FILE. The bytes of the body are signed as they are: send them with --data-binary.',
    'Give two secrets, the new one first, to sign as during a change of the secret. Without --secret-file the secret comes from VOUCHERCTL_WEBHOOK_SECRET.',
  ],
  flags: {
    'body-file': requiredUnless('id', text('FILE|-', 'The raw body'), 'File with the body'),
    ...recordedFlags,
    'secret-file': list('FILE|-', 'The secret that signs; at most two'),
    timestamp: timestampFlag('Unix seconds, default now'),
    'update-id': updateIdFlag('Default: the id in the body'),
  },
  examples: [
    'voucherctl webhook sign --body-file update.json --secret-file secret.txt',
    {
      command:
        'voucherctl webhook sign --body-file update.json > headers.txt && curl -H @headers.txt --data-binary @update.json http://127.0.0.1:8787',
      comment: 'With the secret of the environment',
    },
    {
      command:
        'voucherctl webhook sign --id 1-17 > headers.txt && voucherctl webhook inbox show 1-17 --raw | curl -H @headers.txt --data-binary @- http://127.0.0.1:8787',
      comment: 'A delivery of the inbox, signed with the current time',
    },
  ],
  view: { body: (headers: Readonly<Record<string, string>>) => headerLines(headers) },
  run: async (context, { flags }) => {
    const files = flags['secret-file']
    if (files.length > 2) return usage('--secret-file is given at most twice: the new secret, then the old one.')
    const shared = sharedStdin(context, { 'body-file': flags['body-file'], 'secret-file': files })
    if (shared !== undefined) return shared
    const body = await bodyOf(context, flags)
    if (!body.ok) return body
    const updateId = flags['update-id'] ?? updateIdOf(body.bytes)
    if (typeof updateId !== 'string') return updateId
    const secrets = await signingSecrets(context, files)
    if (!secrets.ok) return secrets
    const timestamp = flags.timestamp ?? secondsOf(context)
    return { ok: true, data: signWebhook({ rawBody: body.bytes, secrets: secrets.value, timestamp, updateId }) }
  },
})

type BodyFlags = Readonly<Record<'id' | 'inbox' | 'body-file', string | undefined>>

async function bodyOf(context: Context, flags: BodyFlags): Promise<BytesResult> {
  if (flags.id === undefined) return readBytes(context.host, flags['body-file'] ?? '-')
  const read = recordedDelivery(context, flags.id, flags.inbox)
  return read.ok ? { ok: true, bytes: read.stored.body } : read
}

export const secondsOf = ({ host }: Context) => Math.floor(host.now() / 1000)

function headerLines(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')
}

function updateIdOf(body: Uint8Array): string | Failure {
  const update = readUpdate(body)
  return update.ok
    ? update.updateId
    : fail('INVALID_INPUT', 'The body is not a JSON object with an integer update_id.', 'Name one with --update-id N.')
}
