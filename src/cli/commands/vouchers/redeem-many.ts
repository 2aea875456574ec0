import type { Redemption } from '../../../contract/vouchers.js'
import * as contract from '../../../contract/vouchers.js'
import { bulkLeaf } from './bulk/bulk-command.js'
import { credentialInput, credentialKey, credentialRows } from './bulk/credential-rows.js'
import { textOrNull } from './bulk/text-or-null.js'

export const redeemMany = bulkLeaf({
  name: 'redeem-many',
  summary: 'Redeem the voucher of each row of a CSV or NDJSON file',
  notes: [
    'CSV with a header line, or NDJSON: redeem_code or qr_token, and optionally recipient_user_id (the user who presents it; refused for another one), reference, and metadata: columns metadata.NAME, or one column or member metadata with a JSON object. The results of issue-many are such a file. UTF-8. - reads standard input, which begins with { where it is NDJSON.',
    'A file is read through first. Where a row cannot be sent (a value is missing, a code comes twice, a line is malformed) nothing is redeemed: exit code 2, each row with its line in the list of errors. From a pipe such rows fail one by one and the others are redeemed.',
    'The results go to --out as they come, readable by you alone. They hold no codes, but the redemption ids that reverse-many takes. Rows that were refused are in the list of errors (default: OUT with .errors before its ending): then the exit code is 11.',
    'Each run has its own idempotency keys, which --resume uses again: a call whose response was lost is counted as replayed. A run without --resume is a new action: vouchers that are redeemed are refused.',
    'Redemption is called only from trusted servers. Voucher codes and QR data are redemption credentials: keep them from unrelated parties.',
  ],
  flags: {},
  outSummary: 'Results with their redemption ids',
  examples: [
    { command: 'voucherctl vouchers redeem-many codes.csv --out redeemed.csv' },
    {
      command: 'voucherctl vouchers redeem-many codes.csv --out redeemed.csv --resume',
      comment: 'Goes on where a run was ended',
    },
  ],
  endpoint: contract.redeem,
  words: {
    verb: 'redeem',
    gerund: 'Redeeming',
    done: 'redeemed',
    noun: 'voucher',
    state: ['is redeemed', 'are redeemed'],
  },
  rows: { ...credentialRows, optional: [...credentialRows.optional, 'reference'], metadata: true },
  checksCodes: true,
  isKeyedByRun: true,
  keyParts: credentialKey,
  parameters: () => ({}),
  word: () => 'redeem',
  input: (row) => ({ ...credentialInput(row), reference: row.values.reference, metadata: row.metadata }),
  resultColumns: [
    'line',
    'redemption_id',
    'voucher_id',
    'external_issue_id',
    'recipient_user_id',
    'reference',
    'code_hint',
    'redeemed_at',
  ],
  id: 'redemption_id',
  result: ({ line, values }, data) => {
    const redemption = data as Partial<Redemption> | null
    return {
      line,
      redemption_id: textOrNull(redemption?.id),
      voucher_id: textOrNull(redemption?.voucherId),
      external_issue_id: textOrNull(redemption?.externalIssueId) ?? values.external_issue_id,
      recipient_user_id: textOrNull(redemption?.recipientUserId),
      reference: values.reference,
      code_hint: textOrNull(redemption?.voucher?.codeHint),
      redeemed_at: textOrNull(redemption?.redeemedAt),
    }
  },
  errorIds: ['external_issue_id', 'recipient_user_id', 'reference'],
  runFailures: [],
})
