import { explainMismatch } from '../../../webhook/explain.js'
import { DEFAULT_TOLERANCE_SECONDS, type VerifyWebhookInput, verifyWebhook } from '../../../webhook/signature.js'
import { NO_KNOWN_MISTAKE } from '../../../workbench/explain-delivery.js'
import { pairsOf, updateIdOf } from '../../../workbench/header-pairs.js'
import type { Context } from '../../command/context.js'
import { leaf } from '../../command/leaf.js'
import { type Failure, fail } from '../../failures/failure.js'
import { duration, list, requiredUnless, text, toggle } from '../../flags/flags.js'
import { readBytes, readTextFile } from '../../host/files.js'
import { recordedDelivery, recordedFlags } from './inbox-dir.js'
import { sharedStdin, verifyingSecrets } from './secrets.js'
import { secondsOf, timestampFlag } from './sign.js'

interface VerifyReport {
  readonly valid: boolean
  /** Why the delivery is refused, as in voucherctl/webhook; null if it is verified. */
  readonly reason: string | null
  readonly message: string
  readonly update_id: number | string | null
  readonly type: string | null
  /** Position of the secret that signed the delivery, from 1; null if no secret matches. */
  readonly secret: number | null
  /** Cause of a signature mismatch, or null; absent without --explain. */
  readonly cause?: string | null
  readonly explanation?: string | null
  readonly fix?: string | null
}

export const verify = leaf({
  name: 'verify',
  summary: 'Verify a recorded delivery, and say why it fails',
  notes: [
    'Applies every rule of a receiver: one value of each header, a timestamp at most 300 s off, the signature over timestamp, dot and raw body, and an X-Platform-Update-Id that is the update_id of the body. Exit code 0 when it is valid, 10 when it is not; the verdict is on stdout either way.',
    'A signature is HMAC-SHA256 as 64 lower-case hex digits. The key is the bytes of the secret as given, the message is X-Platform-Timestamp, a dot and the raw body. While a replaced secret is in its grace period there are two signatures, new,old.',
    '--explain tries the known mistakes and names the one that makes the signature fit, with its fix. Several secrets may be given, the one in use first. The files are read byte for byte, less one final line end of a secret.',
  ],
  flags: {
    'body-file': requiredUnless('id', text('FILE|-', 'The raw body, as received'), 'File with the body'),
    'headers-file': requiredUnless(
      'id',
      text('FILE|-', 'Its headers: Name: value lines, or JSON'),
      'File with the headers',
    ),
    ...recordedFlags,
    'secret-file': list('FILE|-', 'A secret that may have signed'),
    timestamp: timestampFlag("The receiver's clock in Unix seconds, default now, or when it arrived"),
    tolerance: duration('How far the timestamp may be off, default 300s'),
    explain: toggle('Look for the mistake'),
  },
  examples: [
    'voucherctl webhook verify --body-file body.json --headers-file headers.txt --secret-file secret.txt',
    {
      command:
        'voucherctl webhook verify --body-file body.json --headers-file headers.txt --secret-file secret.txt --explain',
      comment: 'Why does the signature not fit?',
    },
    { command: 'voucherctl webhook verify --id 1-17 --explain', comment: 'The same, of a delivery of the inbox' },
  ],
  // Copy the argument: `sentence` passes a proxy that throws when a member is missing, and members may be missing here.
  view: {
    headline: (it: VerifyReport) => verdictOf({ ...it }),
    isGood: (it) => it.valid,
    members: [],
    body: (it) => causeOf({ ...it }),
  },
  run: async (context, { flags }) => {
    const { 'body-file': bodyFile, 'headers-file': headersFile, 'secret-file': secretFiles, tolerance } = flags
    const named = { 'body-file': bodyFile, 'headers-file': headersFile, 'secret-file': secretFiles }
    const shared = sharedStdin(context, named)
    if (shared !== undefined) return shared
    const read = await (flags.id === undefined
      ? readDelivery(context, bodyFile ?? '-', headersFile ?? '-')
      : recordedAs(context, flags.id, flags.inbox))
    if (!read.ok) return read
    const secrets = await verifyingSecrets(context, secretFiles)
    if (!secrets.ok) return secrets
    const input: VerifyWebhookInput = {
      headers: read.headers,
      rawBody: read.body,
      secrets: secrets.value,
      now: flags.timestamp === undefined ? read.at : flags.timestamp * 1000,
      toleranceSeconds: tolerance === undefined ? DEFAULT_TOLERANCE_SECONDS : Math.floor(tolerance / 1000),
    }
    const data = verifyDelivery(input, flags.explain)
    return { ok: true, data, exit: data.valid ? 0 : 10 }
  },
})

type DeliveryResult =
  | { readonly ok: true; readonly headers: HeaderPairs; readonly body: Buffer; readonly at: number }
  | Failure

async function readDelivery(context: Context, bodyFile: string, headersFile: string): Promise<DeliveryResult> {
  const body = await readBytes(context.host, bodyFile)
  if (!body.ok) return body
  const written = await readTextFile(context.host, headersFile)
  if (!written.ok) return written
  const headers = headersOf(written.text)
  if (!headers.ok) return headers
  return { ok: true, headers: headers.pairs, body: body.bytes, at: secondsOf(context) * 1000 }
}

function recordedAs(context: Context, id: string, inboxDir: string | undefined): DeliveryResult {
  const read = recordedDelivery(context, id, inboxDir)
  if (!read.ok) return read
  const { headers, body, at } = read.stored
  return { ok: true, headers: pairsOf(headers), body, at }
}

function verifyDelivery(input: VerifyWebhookInput, explains: boolean): VerifyReport {
  const verdict = verifyWebhook(input)
  const report: VerifyReport = verdict.ok
    ? {
        valid: true,
        reason: null,
        message: `update ${verdict.updateId}${secretInWords(verdict.secretIndex, input.secrets.length)}.`,
        update_id: updateIdOf(verdict.updateId),
        type: typeof verdict.body.type === 'string' ? verdict.body.type : null,
        secret: verdict.secretIndex + 1,
      }
    : { valid: false, reason: verdict.reason, message: verdict.message, update_id: null, type: null, secret: null }
  if (!explains) return report
  const found = explainMismatch(input)
  return {
    ...report,
    cause: found?.cause ?? null,
    explanation: found?.explanation ?? null,
    fix: found?.fix ?? null,
  }
}

const secretInWords = (index: number, count: number) => (count > 1 ? `, signed by secret ${index + 1} of ${count}` : '')

const verdictOf = ({ valid, reason, message }: VerifyReport) =>
  valid ? `Valid: ${message}` : `Not valid (${reason}): ${message}`

function causeOf({ valid, cause, explanation, fix }: VerifyReport): string | undefined {
  if (cause === undefined || (valid && cause === null)) return undefined
  if (cause !== null) return `Cause: ${cause}. ${explanation}\nFix: ${fix}`
  return NO_KNOWN_MISTAKE
}

type HeaderPairs = readonly (readonly [name: string, value: string])[]
type HeadersResult = { readonly ok: true; readonly pairs: HeaderPairs } | Failure

const unreadable = (message: string) =>
  fail('INVALID_INPUT', message, 'It holds a line `Name: value` for each header, or a JSON object of them.')

/** Parses a headers file: JSON, or `Name: value` lines, with or without a request line. Keeps duplicate names. */
function headersOf(text: string): HeadersResult {
  return /^\s*[{[]/.test(text) ? fromJson(text) : fromLines(text)
}

function fromLines(text: string): HeadersResult {
  const pairs: [string, string][] = []
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const isStart = index === 0 && (/^[A-Z]+ \S+ HTTP\/[\d.]+$/.test(line) || line.startsWith('HTTP/'))
    if (isStart || line.trim() === '') continue
    const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*(.*?)[ \t]*$/.exec(line) ?? []
    if (name === undefined || value === undefined) {
      return unreadable(`Line ${index + 1} of the headers file is not a header.`)
    }
    pairs.push([name, value])
  }
  return { ok: true, pairs }
}

/** Parses headers in JSON: an object of values or lists of values, or a list of pairs. */
function fromJson(text: string): HeadersResult {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return unreadable('The headers file is not JSON.')
  }
  const entries: unknown[] = Array.isArray(json) ? json : Object.entries(json as object)
  const pairs: [string, string][] = []
  for (const entry of entries) {
    const [name, value]: unknown[] = Array.isArray(entry) && entry.length === 2 ? entry : []
    const values = [value].flat()
    if (typeof name !== 'string' || !values.every((it) => typeof it === 'string')) {
      return unreadable('The headers file is JSON, but not an object of names and text values.')
    }
    for (const it of values) pairs.push([name, it])
  }
  return { ok: true, pairs }
}
