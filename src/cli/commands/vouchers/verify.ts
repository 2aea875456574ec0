import { vouchers as contract, type Verification } from '../../../contract/vouchers.js'
import { leaf } from '../../command/leaf.js'
import { at, member, toggle } from '../../flags/flags.js'
import { credentialFlags, credentialOperand, readCredential, secret } from '../../prompts/credential-input.js'

/** Why a voucher cannot be redeemed, by the reason of a verification. */
export const refusalReasons: Readonly<Record<string, string>> = {
  already_redeemed: 'it is already redeemed',
  expired: 'it has expired',
  not_yet_valid: 'it is not valid yet',
  recipient_mismatch: 'it belongs to another recipient',
}

export const verify = leaf({
  name: 'verify',
  endpoint: contract.verify,
  notes: [secret],
  positional: credentialOperand,
  flags: {
    ...credentialFlags,
    recipient: at('recipient_user_id', member('User who presents it; another one is not redeemable', 'ID')),
    check: toggle('Exit with 6 when it is not redeemable'),
  },
  examples: [
    'voucherctl vouchers verify M9S3-46Q3-D25V-T4FJ',
    { command: 'scan | voucherctl vouchers verify - --check', comment: 'From stdin, for a script' },
  ],
  view: {
    headline: ({ redeemable, reason }: Verification) =>
      redeemable ? 'Redeemable.' : `Not redeemable: ${refusalReasons[reason ?? ''] ?? reason ?? 'no reason given'}.`,
    isGood: ({ redeemable }) => redeemable,
    members: [
      'voucher.name',
      'voucher.status',
      'voucher.issuerName',
      'voucher.recipientUserId',
      'voucher.validFrom',
      'voucher.validUntil',
      'voucher.redeemedAt',
      'voucher.redemptionId',
      'voucher.id',
    ],
  },
  run: async (context, { positional, flags, input }) => {
    const credential = await readCredential(context, positional, flags)
    if (!credential.ok) return credential
    const verified = await context.call(contract.verify, { ...input, credential: credential.value })
    return verified.ok && flags.check && verified.data?.redeemable !== true ? { ...verified, exit: 6 } : verified
  },
})
