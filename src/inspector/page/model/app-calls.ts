import { HIDDEN } from '../../../contract/platform/captured.js'
import type { Template } from '../../../contract/templates.js'
import { shellWord } from '../../../contract/values/shell-word.js'
import type { Voucher } from '../../../contract/vouchers.js'
import { commandLine, type PlannedCall } from './planned-call.js'

// Runtime calls, which the operator makes as the application. The page does not have the code of a voucher: the server
// adds it to a call that names the voucher.

const VOUCHERS = '/api/v1/open-platform/vouchers'
const credential = { type: 'redeem_code', value: HIDDEN } as const
/** Shell code that gives the redeem code to a command on its standard input. */
const withCode = (command: string) => `printf %s "$SECRET" | ${command}`

type Owned = Pick<Voucher, 'id' | 'applicationId'>

export const verifyVoucher = ({ id, applicationId }: Owned): PlannedCall => ({
  endpoint: 'vouchers.verify',
  method: 'POST',
  route: `${VOUCHERS}/verify`,
  params: {},
  body: { credential },
  applicationId,
  voucherId: id,
  status: 200,
  command: withCode(commandLine('vouchers verify -')),
})

export const redeemVoucher = ({ id, applicationId }: Owned, reference: string, key: string): PlannedCall => ({
  endpoint: 'vouchers.redeem',
  method: 'POST',
  route: `${VOUCHERS}/redeem`,
  params: {},
  body: { credential, ...(reference && { reference }) },
  idempotencyKey: key,
  applicationId,
  voucherId: id,
  status: 200,
  command: withCode(commandLine('vouchers redeem -', { reference, 'idempotency-key': key })),
})

export const reverseRedemption = (
  { redemptionId, applicationId }: Pick<Voucher, 'redemptionId' | 'applicationId'>,
  reason: string,
  key: string,
): PlannedCall => ({
  endpoint: 'vouchers.reverse',
  method: 'POST',
  route: `${VOUCHERS}/redemptions/:redemptionId/reverse`,
  params: { redemptionId: redemptionId ?? '' },
  body: reason ? { reason } : {},
  idempotencyKey: key,
  applicationId,
  status: 200,
  command: commandLine(`vouchers reverse ${shellWord(redemptionId ?? '')}`, { reason, 'idempotency-key': key }),
})

interface Issue {
  readonly template_id: string
  readonly external_issue_id: string
  readonly recipient_user_id: string
}

export const issueVoucher = (applicationId: string, body: Issue, key: string): PlannedCall => ({
  endpoint: 'vouchers.issue',
  method: 'POST',
  route: `${VOUCHERS}/issue`,
  params: {},
  body,
  idempotencyKey: key,
  applicationId,
  status: 201,
  command: commandLine('vouchers issue', {
    template: body.template_id,
    'external-id': body.external_issue_id,
    recipient: body.recipient_user_id,
    'idempotency-key': key,
  }),
})

export const submitTemplate = ({
  id,
  applicationId,
}: Pick<Template, 'id'> & { readonly applicationId: string }): PlannedCall => ({
  endpoint: 'templates.submit',
  method: 'POST',
  route: `${VOUCHERS}/templates/:templateId/submit`,
  params: { templateId: id },
  applicationId,
  status: 200,
  command: commandLine(`templates submit ${shellWord(id)}`),
})
