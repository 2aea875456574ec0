import {
  platformVouchers as contract,
  type VoucherHistory,
  voucherHistory,
} from '../../../contract/platform/voucher-history.js'
import { durationMs } from '../../../values/duration.js'
import { defined } from '../../../values/json.js'
import { type Group, leaf, OPERATOR_NOTE } from '../../command/leaf.js'
import { fetchList, pageFlags } from '../../command/paging.js'
import { at, member } from '../../flags/flags.js'
import { moment, parseTime } from '../../flags/time.js'
import { anyVoucher } from '../../prompts/credential-input.js'
import { idByExternalId, readVoucher } from '../../prompts/find-voucher.js'
import { drawHistory } from './voucher-timeline.js'

/** Flag whose value stays as typed, so that the message of an empty list can repeat it. */
const since = moment('Only those issued since this time, or in the last 10m', (_, text) => text)

function instantOf(typed: string | undefined, now: number): string | undefined {
  if (typed === undefined) return undefined
  const agoMs = durationMs(typed)
  return agoMs === undefined ? parseTime(typed)?.instant : new Date(now - agoMs).toISOString()
}

export const platformVouchers: Group = {
  name: 'vouchers',
  alias: 'voucher',
  summary: 'Vouchers of every application, and their history',
  commands: [
    leaf({
      name: 'list',
      endpoint: contract.vouchers,
      flags: {
        app: at('application_id', member('Only vouchers of this application, app_…', 'ID')),
        template: member('Only vouchers of this template, tpl_…', 'ID'),
        recipient: at('recipient_user_id', member('Only vouchers of this user', 'ID')),
        'external-id': at('external_issue_id', member('Only those with this external issue id', 'ID')),
        status: member('Only these'),
        since,
        sort: member(
          'By issued_at, recipient_user_id or external_issue_id; highest first with -, as in --sort=-issued_at',
          'COLUMN',
        ),
        ...pageFlags,
      },
      examples: [
        'voucherctl platform vouchers list',
        'voucherctl platform vouchers list --recipient user-42 --status redeemed --since 1h',
      ],
      view: { members: ['id', 'status', 'recipientUserId', 'externalIssueId', 'issuedAt'] },
      run: (context, { flags, input }) => {
        const since = instantOf(flags.since, context.host.now())
        return fetchList(context, flags, contract.vouchers, { ...input, ...defined({ since }) })
      },
    }),
    leaf({
      name: 'show',
      summary: contract.voucher.summary,
      alsoCalls: { 'platform.voucher': '', 'platform.findVoucher': '--code', 'platform.vouchers': '--external-id' },
      output: voucherHistory,
      notes: [
        'Verifications and replays are known since the server started, from its last 1000 requests; the store holds all other events.',
        'Codes and QR data are secrets: they are asked for on a terminal, and - reads them from stdin.',
        OPERATOR_NOTE,
      ],
      positional: { ...anyVoucher.operand, summary: `Voucher or ${anyVoucher.operand.summary}`, member: 'credential' },
      flags: anyVoucher.flags,
      examples: [
        'voucherctl platform vouchers show vch_01JC…',
        { command: 'scan | voucherctl platform vouchers show -', comment: 'By its code' },
        'voucherctl platform vouchers show --external-id order-1001',
      ],
      view: {
        headline: ({ voucher }: VoucherHistory) => `Voucher ${voucher.id} is ${voucher.status}.`,
        drawing: drawHistory,
        key: 'voucher.id',
      },
      run: async (context, { positional, flags }) => {
        const named = await readVoucher(context, positional, flags)
        if (!named.ok) return named
        const wanted = named.value
        if ('credential' in wanted) return context.call(contract.findVoucher, wanted)
        if ('id' in wanted) return context.call(contract.voucher, { voucherId: wanted.id })
        const found = await idByExternalId(context, wanted.externalId, 'id')
        return found.ok ? context.call(contract.voucher, { voucherId: found.value }) : found
      },
    }),
  ],
}
