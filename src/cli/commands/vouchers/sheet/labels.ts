import { codeOf } from '../../../../files/error-code.js'
import { openInput } from '../../../bulk/input/input.js'
import { markDuplicates, readRows } from '../../../bulk/input/read-rows.js'
import { type BadRow, bad, type InputRow, isBad, type RowMembers, UnreadableInput } from '../../../bulk/input/row.js'
import { Mistakes } from '../../../bulk/mistakes.js'
import type { Context, Ok } from '../../../command/context.js'
import { type Failure, fail } from '../../../failures/failure.js'
import { isInstant, numberText } from '../../../output/text.js'
import { QR_BYTES_MAX } from '../issue.js'
import type { Label } from './html.js'

/** Columns of the results of issue-many. */
const sheetRows: RowMembers = {
  needed: [['qr_token']],
  optional: [
    'redeem_code',
    'name',
    'issuer_name',
    'recipient_user_id',
    'external_issue_id',
    'valid_from',
    'valid_until',
  ],
  ignored: ['line', 'voucher_id'],
  metadata: false,
  spellings: { qr: 'qr_token', token: 'qr_token', code: 'redeem_code', recipient: 'recipient_user_id', title: 'name' },
}

/** Maximum number of vouchers of a sheet: 2,000 pages. */
const VOUCHERS_MAX = 20_000

/** Maximum characters on a card: the longest texts that the interface allows, in a readable size. */
const TEXT_MAX = 700

/** Reads the vouchers of a file. One row that cannot be printed is enough to refuse the file. */
export async function readLabels(
  { host }: Context,
  path: string,
  title: string | undefined,
  delimiter: string | undefined,
): Promise<Ok<readonly Label[]> | Failure> {
  const opened = await openInput(host, path)
  if (!opened.ok) return opened
  const { input } = opened
  const labels: Label[] = []
  const mistakes = new Mistakes()
  const known = { ...sheetRows, delimiter }
  try {
    for await (const block of markDuplicates(readRows(input.chunks(), input.format, known), known)) {
      if (host.signal.aborted) return interrupted
      for (const row of block.map((it) => withSize(it, title))) {
        if (isBad(row)) mistakes.add(row)
        else labels.push(labelOf(row, title, host.now()))
      }
      if (labels.length > VOUCHERS_MAX)
        return fail('INVALID_INPUT', `${input.name} has more than 20,000 vouchers.`, 'Split it into several files.')
    }
  } catch (error) {
    if (error instanceof UnreadableInput) return fail('INVALID_INPUT', `${input.name}: ${error.message}`, error.hint)
    return fail('FILE_UNREADABLE', `${input.name} cannot be read (${codeOf(error)}).`)
  } finally {
    await input.close()
  }
  if (mistakes.count > 0) return refuseRows(mistakes, labels.length + mistakes.count)
  if (labels.length === 0) return fail('INVALID_INPUT', `${input.name} has no vouchers.`, 'Name a file of issue-many.')
  return { ok: true, value: labels }
}

export const interrupted = fail('ABORTED', 'Interrupted before the sheet was written.')

function refuseRows({ count, details }: Mistakes, total: number): Failure {
  const bad = `${numberText(count)} of ${numberText(total)} rows cannot be printed.`
  return fail('INVALID_INPUT', `${bad} Nothing was written.`, 'Correct the file, or remove the row.', details)
}

/** Refuses a row that does not fit on a card or in a QR code, for which the QR library would throw. */
function withSize(row: InputRow | BadRow, title: string | undefined): InputRow | BadRow {
  if (isBad(row)) return row
  const { qr_token: token = '', ...texts } = row.values
  if (Buffer.byteLength(token) > QR_BYTES_MAX) {
    return bad(row.line, 'VALUE_WRONG', 'qr_token is longer than 2,331 bytes, the most that a QR code holds')
  }
  const length = Object.values({ ...texts, name: title ?? texts.name }).join('').length
  return length > TEXT_MAX
    ? bad(row.line, 'VALUE_WRONG', 'has more than 700 characters beside its qr_token, the most that fit a card')
    : row
}

function labelOf({ line, values }: InputRow, title: string | undefined, now: number): Label {
  const { qr_token: qrToken, valid_from: from, valid_until: until } = values
  const recipient = printable(values.recipient_user_id)
  // Print a start that cannot be parsed: the card must not look valid from now on.
  const isLater = from !== undefined && !(Date.parse(from) <= now)
  return {
    line,
    qrToken: qrToken as string,
    title: printable(title) ?? printable(values.name),
    issuer: printable(values.issuer_name),
    code: printable(values.redeem_code),
    details: [
      isLater && `Valid from ${timeOf(from, Math.ceil)}`,
      until !== undefined && `Valid until ${timeOf(until, Math.floor)}`,
      recipient !== undefined && `For ${recipient}`,
      printable(values.external_issue_id),
    ].filter((it): it is string => typeof it === 'string'),
  }
}

/** Puts a text on one line without control characters; composes accents, for fonts without combining ones. */
const printable = (text: string | undefined) =>
  text
    ?.normalize('NFC')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim() || undefined

/** Formats an instant to the minute. @param round rounds so that no printed time is outside the validity */
function timeOf(text: string, round: (minutes: number) => number): string {
  if (!isInstant(text)) return printable(text) ?? ''
  const minute = new Date(round(Date.parse(text) / 60_000) * 60_000).toISOString()
  return `${minute.slice(0, 10)} ${minute.slice(11, 16)} UTC`
}
