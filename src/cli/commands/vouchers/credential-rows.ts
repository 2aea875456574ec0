import type { InputRow, RowMembers } from '../../bulk/input/row.js'

/** Rows with a redeem code or QR token. The results of issue-many are such rows. */
export const credentialRows = {
  needed: [['redeem_code', 'qr_token']],
  optional: ['external_issue_id', 'recipient_user_id'],
  ignored: ['line', 'voucher_id', 'valid_from', 'valid_until', 'name', 'issuer_name'],
  metadata: false,
  spellings: { code: 'redeem_code', qr: 'qr_token', token: 'qr_token', recipient: 'recipient_user_id' },
} satisfies RowMembers

/** Type and value of the credential in a row; undefined for a result line, which has none. */
function credentialIn({ redeem_code: code, qr_token: token }: InputRow['values']) {
  if (code !== undefined) return { type: 'redeem_code', value: code }
  return token === undefined ? undefined : { type: 'qr_token', value: token }
}

/** Input members of both verify and redeem. */
export const credentialInput = ({ values }: InputRow) => ({
  credential: credentialIn(values),
  recipient_user_id: values.recipient_user_id,
})

/** Identifies a credential within a run; undefined for a result line. */
export function credentialKey(values: InputRow['values'], run: string): readonly unknown[] | undefined {
  const credential = credentialIn(values)
  return credential && [run, credential.type, credential.value]
}
