import { vouchers as contract } from '../../../contract/vouchers.js'
import { ofRow, textAt } from '../../bulk/action.js'
import { bulkLeaf } from './bulk-command.js'
import { credentialInput, credentialKey, credentialRows } from './credential-rows.js'

export const redeemMany = bulkLeaf({
  name: 'redeem-many',
  summary: 'Redeem the voucher of each row of a CSV or NDJSON file',
  notes: [
    'CSV with a header line, or NDJSON, in UTF-8: redeem_code or qr_token, and optionally recipient_user_id (the user who presents it), reference, and metadata (columns metadata.NAME, or one column or member metadata with a JSON object). The results of issue-many are such a file.',
    'The whole file is checked first. With a malformed row, or with a code twice, nothing is redeemed: exit code 2. From a pipe such rows fail one by one. Rows that failed are in the list of errors (default: OUT with .errors before its ending), each with its reason: exit code 11.',
    'The results hold redemption ids, which reverse-many takes, and no codes. A run without --resume is a new action: vouchers that are redeemed are refused. --resume repeats the idempotency keys of its run, and counts replays apart.',
    'Redemption is called only from trusted servers. Voucher codes and QR data are redemption credentials: keep them from unrelated parties.',
  ],
  flags: {},
  outSummary: 'Results with their redemption ids',
  examples: ['voucherctl vouchers redeem-many codes.csv --out redeemed.csv'],
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
  columns: {
    redemption_id: textAt('id'),
    voucher_id: textAt('voucherId'),
    external_issue_id: (data, row) => textAt('externalIssueId')(data, row) ?? row.values.external_issue_id,
    recipient_user_id: textAt('recipientUserId'),
    reference: ofRow('reference'),
    code_hint: textAt('voucher.codeHint'),
    redeemed_at: textAt('redeemedAt'),
  },
  id: 'redemption_id',
  errorIds: ['external_issue_id', 'recipient_user_id', 'reference'],
  runFailures: [],
})
