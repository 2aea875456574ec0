import { kindOfId } from '../../../contract/record-kinds.js'
import { vouchers as contract, type Redemption } from '../../../contract/vouchers.js'
import { callLeaf, type Group, type LazyNode, leaf } from '../../command/leaf.js'
import { suggested } from '../../failures/failure.js'
import { at, member, text } from '../../flags/flags.js'
import {
  anyVoucher,
  credentialFlags,
  credentialOperand,
  readCredential,
  secret,
} from '../../prompts/credential-input.js'
import type { FileCommand } from './file-commands.js'
import { isReplay, type ReplayMembers, replaySentence, replayShape, withRedemptionReplay } from './replay.js'
import { verify } from './verify.js'

/** Schema of the result of redeem and reverse, including the members of a replay. */
const redemptionOrReplay = { anyOf: [contract.redeem.output, replayShape] }

const trusted =
  'Redemption and reversal are called only from trusted servers, each with its own idempotency key. A repeat of the same action reuses its key: --idempotency-key.'

const redemptionMembers = [
  'id',
  'status',
  'voucherId',
  'recipientUserId',
  'reference',
  'metadata',
  'redeemedAt',
  'reversedAt',
  'reversalReason',
  'voucher.status',
  'voucher.redeemable',
]

/** Suggests a reversal. An id without the prefix of a kind would be taken for a code. */
const reversalOf = (id: string) =>
  kindOfId(id) === undefined ? suggested`vouchers reverse --redemption ${id}` : suggested`vouchers reverse ${id}`

/** A command for a file of vouchers, loaded on demand: these commands are as large as the rest of the group. */
const fileCommand = (name: FileCommand): LazyNode => ({
  name,
  load: async () => (await import('./file-commands.js')).fileCommands[name],
})

export const vouchers: Group = {
  name: 'vouchers',
  alias: 'voucher',
  summary: 'Issue, verify, redeem and reverse vouchers, one or many',
  commands: [
    { name: 'issue', load: async () => (await import('./issue.js')).issue },
    ...(['issue-many', 'verify-many', 'redeem-many', 'reverse-many', 'sheet'] as const).map(fileCommand),
    verify,
    leaf({
      name: 'redeem',
      endpoint: contract.redeem,
      output: redemptionOrReplay,
      notes: [trusted, secret],
      positional: credentialOperand,
      flags: {
        ...credentialFlags,
        recipient: at('recipient_user_id', member('User who presents it; refused for another one', 'ID')),
        reference: member('Your own reference, such as an order number', 'TEXT'),
        metadata: member('Your own data'),
      },
      examples: [
        'voucherctl vouchers redeem M9S3-46Q3-D25V-T4FJ --reference order-1001',
        { command: 'scan | voucherctl vouchers redeem - --json', comment: 'From stdin, for a script' },
      ],
      view: {
        headline: (redemption: Redemption & ReplayMembers) =>
          isReplay(redemption)
            ? replaySentence(redemption, redemption.redeemedAt)
            : `Redeemed the voucher that ends in ${redemption.voucher.codeHint}.`,
        members: redemptionMembers,
        next: (it) => (isReplay(it) ? undefined : `To take it back: ${reversalOf(it.id)}`),
      },
      run: async (context, { positional, flags, input }) => {
        const credential = await readCredential(context, positional, flags)
        if (!credential.ok) return credential
        const redeemed = await context.call(contract.redeem, { ...input, credential: credential.value })
        return redeemed.ok && redeemed.replayed ? withRedemptionReplay(context, redeemed) : redeemed
      },
    }),
    callLeaf({
      name: 'redemption',
      endpoint: contract.redemption,
      examples: ['voucherctl vouchers redemption rdm_01JC…'],
      view: { headline: (it) => `Redemption ${it.status}.`, members: redemptionMembers },
    }),
    leaf({
      name: 'reverse',
      endpoint: contract.reverse,
      output: redemptionOrReplay,
      notes: [trusted, 'The voucher can be redeemed again while it is valid. The quota of the template stays used.'],
      alsoCalls: { 'vouchers.verify': '--code', 'platform.vouchers': '--external-id' },
      positional: { ...anyVoucher.operand, member: 'redemptionId' },
      flags: {
        ...anyVoucher.flags,
        redemption: at('redemptionId', text('ID|-', 'The same, always as a redemption id')),
        reason: member('Why, at most 200 characters', 'TEXT'),
        metadata: member('Your own data'),
      },
      examples: [
        'voucherctl vouchers reverse rdm_01JC… --reason "wrong article"',
        { command: 'scan | voucherctl vouchers reverse -', comment: 'By its code; also needs vouchers:verify' },
        'voucherctl vouchers reverse --external-id order-1001',
      ],
      view: {
        headline: (redemption: Redemption & ReplayMembers) =>
          isReplay(redemption)
            ? replaySentence(redemption, redemption.reversedAt)
            : `Reversed. The voucher is ${redemption.voucher.redeemable ? 'redeemable again' : redemption.voucher.status}.`,
        members: redemptionMembers,
      },
      run: async (context, { positional, flags, input }) => {
        const { findRedemption } = await import('../../prompts/find-voucher.js')
        const found = await findRedemption(context, positional, flags)
        if (!found.ok) return found
        const reversed = await context.call(contract.reverse, { ...input, redemptionId: found.value })
        return reversed.ok && reversed.replayed ? withRedemptionReplay(context, reversed) : reversed
      },
    }),
  ],
}
