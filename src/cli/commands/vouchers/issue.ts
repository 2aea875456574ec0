import type { DeliveredVoucher } from '../../../contract/bots.js'
import { vouchers as contract, type IssuedVoucher } from '../../../contract/vouchers.js'
import { asMembers } from '../../../values/json.js'
import type { Context } from '../../command/context.js'
import { leaf } from '../../command/leaf.js'
import { type Failure, fail, usage } from '../../failures/failure.js'
import { at, matching, member, required, requiredUnless, text, toggle } from '../../flags/flags.js'
import type { Times } from '../../output/screen.js'
import { textOf } from '../../output/text.js'
import { isReplay, type ReplayMembers, replaySentence, replayShape, withVoucherReplay } from './replay.js'

/** Returns the redeem code or QR token of an issued voucher; undefined if the response lacks both. */
export function credentialOf(voucher: unknown, type: 'redeem_code' | 'qr_token'): string | undefined {
  const credentials = asMembers(voucher)?.credentials
  if (!Array.isArray(credentials)) return undefined
  const value: unknown = credentials.find((it) => it?.type === type)?.value
  return typeof value === 'string' ? value : undefined
}

/** Bytes that fit the largest QR code with error correction level M (ISO/IEC 18004); the QR library throws above. */
export const QR_BYTES_MAX = 2_331

export const issue = leaf({
  name: 'issue',
  endpoint: contract.issue,
  alsoCalls: { 'bots.issue': '--chat' },
  // The response to a bot's issue also has `delivery`.
  output: { anyOf: [contract.issue.output, { properties: { delivery: {} } }, replayShape] },
  notes: [
    'The recipient must come from user authorization or an existing business relationship, and must not be enumerated. Keep the evidence of the authorization.',
    'The code and the QR data of the response are redemption credentials: keep them from unrelated parties. Tokens are kept on trusted servers only.',
    'An external id is issued once. Issuing it again to the same recipient returns the same voucher.',
  ],
  flags: {
    template: required(member('Active template, tpl_…', 'ID'), 'Template id'),
    'external-id': required(
      at('external_issue_id', member('Your own id of this issuance', 'ID')),
      'Your own id of this issuance',
    ),
    recipient: requiredUnless('chat', at('recipient_user_id', member('Authorized user', 'ID')), 'Recipient user id'),
    chat: at('chat_id', text('ID', 'Issue through the bot into this private chat, chat_…, in place of --recipient')),
    metadata: member('Your own data'),
    qr: toggle('Show the QR code in the terminal'),
    'qr-file': matching(
      'FILE',
      'Write the QR code to this path, which ends in .png or .svg',
      (it) => /\.(png|svg)$/i.test(it),
      'must end in .png or .svg',
    ),
  },
  examples: [
    'voucherctl vouchers issue --template tpl_01JC… --external-id order-1001 --recipient user-42',
    {
      command:
        'voucherctl vouchers issue --template tpl_01JC… --external-id order-1001 --recipient user-42 --qr-file coffee.svg',
      comment: 'With its QR code as a file',
    },
    {
      command: 'voucherctl vouchers issue --template tpl_01JC… --external-id order-1001 --chat chat_01JC…',
      comment: 'Delivered by the bot whose token is at hand',
    },
  ],
  run: async (context, { flags, input }) => {
    const file = flags['qr-file']
    const problem = await checkQr(context, flags.qr, file)
    if (problem !== undefined) return problem
    const { chat } = flags
    const issued =
      chat === undefined
        ? await context.call(contract.issue, input)
        : await context.call((await import('../../../contract/bots.js')).bots.issue, { ...input, chat_id: chat })
    if (!issued.ok) return issued
    // A bot token cannot verify vouchers, so do not look up the current state of a replayed voucher.
    const code = chat === undefined ? credentialOf(issued.data, 'redeem_code') : undefined
    const voucher = issued.replayed ? (await withVoucherReplay(context, issued.data, code)).data : issued.data
    const returned = credentialOf(voucher, 'qr_token')
    const qrToken = Buffer.byteLength(returned ?? '') > QR_BYTES_MAX ? undefined : returned
    if (qrToken === undefined && (flags.qr || file !== undefined)) {
      return fail(
        'INVALID_RESPONSE',
        'The voucher was issued, but the response has no QR data that can be shown.',
        null,
        {
          voucher_id: voucher?.id,
        },
      )
    }
    // Write the QR file before printing: the process ends when the reader of stdout closes the pipe.
    if (qrToken !== undefined && file !== undefined) {
      const { writeQrFile } = await import('../../output/qr.js')
      const failed = await writeQrFile(file, qrToken)
      if (failed !== undefined) return { ...failed, details: { voucher_id: voucher?.id } }
    }
    await context.output.print(voucher, {
      headline: (issued: IssuedVoucher & ReplayMembers) =>
        isReplay(issued)
          ? replaySentence(issued, issued.issuedAt)
          : `Issued ${issued.name} to ${issued.recipientUserId}.`,
      body: (_, { zone }) => details(voucher, file, zone),
    })
    if (qrToken !== undefined && flags.qr) await showQr(context, qrToken)
    return { ok: true, printed: true }
  },
})

async function showQr({ output }: Context, qrToken: string): Promise<void> {
  const { drawQr } = await import('../../output/qr.js')
  const drawing = await drawQr(qrToken, output)
  if (drawing !== undefined) return output.say(`\n${drawing}`)
  output.notice(
    'warning: the QR code is wider than this terminal. Issue again with the same ids and --qr-file: the same voucher is returned.',
  )
}

/** Checks the QR flags before the voucher is issued, because issuing cannot be undone. */
async function checkQr(
  { output, dryRun }: Context,
  qr: boolean,
  file: string | undefined,
): Promise<Failure | undefined> {
  if (qr && output.options.format !== 'table') {
    return usage(
      '--qr draws on the terminal and cannot be combined with a machine format.',
      'Use --qr-file out.png or out.svg.',
    )
  }
  if (file === undefined || dryRun) return undefined
  const { checkQrFile } = await import('../../output/qr.js')
  return checkQrFile(file)
}

/** Chat into which a bot delivered the voucher; undefined if the voucher was issued without a delivery. */
function deliveredTo(voucher: Partial<DeliveredVoucher> | null): string | undefined {
  if (voucher?.delivery === undefined) return undefined
  const { chat_id: chat, message_id: message } = voucher.delivery ?? {}
  return chat === undefined ? 'no: it was issued without a chat before' : `message ${message} of ${chat}`
}

function details(voucher: IssuedVoucher | null, file: string | undefined, zone: Times['zone']): string {
  const rows = [
    ['redeem code', credentialOf(voucher, 'redeem_code')],
    ['qr token', credentialOf(voucher, 'qr_token')],
    ['qr file', file],
    ['delivered', deliveredTo(voucher)],
    ['valid from', voucher?.validFrom],
    ['valid until', voucher?.validUntil],
    ['external id', voucher?.externalIssueId],
    ['voucher', voucher?.id],
  ] as const
  return rows
    .filter(([, value]) => value !== undefined)
    .map(([label, value]) => `${label.padEnd(11)}  ${textOf(value, zone)}`)
    .join('\n')
}
