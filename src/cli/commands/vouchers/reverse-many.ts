import { vouchers as contract } from '../../../contract/vouchers.js'
import { ofRow, textAt } from '../../bulk/action.js'
import { text } from '../../flags/flags.js'
import { valueAt } from '../../output/select-fields.js'
import { bulkLeaf } from './bulk-command.js'

export const reverseMany = bulkLeaf({
  name: 'reverse-many',
  summary: 'Reverse the redemption of each row of a CSV or NDJSON file',
  notes: [
    'CSV with a header line, or NDJSON, in UTF-8: redemption_id, and optionally reason and metadata (columns metadata.NAME, or one column or member metadata with a JSON object). The results of redeem-many are such a file.',
    'The whole file is checked first. With a malformed row, or with a redemption_id twice, nothing is reversed: exit code 2. From a pipe such rows fail one by one. Rows that failed are in the list of errors (default: OUT with .errors before its ending), each with its reason: exit code 11.',
    'A run without --resume is a new action: redemptions that are reversed are refused. --resume repeats the idempotency keys of its run, and counts replays apart.',
    'Reversal is called only from trusted servers. The vouchers can be redeemed again while they are valid. The quota of the template stays used.',
  ],
  flags: { reason: text('TEXT', 'Why, at most 200 characters, for rows without a reason') },
  outSummary: 'Results',
  examples: ['voucherctl vouchers reverse-many redeemed.csv --reason "wrong till" --out reversed.csv'],
  endpoint: contract.reverse,
  words: {
    verb: 'reverse',
    gerund: 'Reversing',
    done: 'reversed',
    noun: 'redemption',
    state: ['is reversed', 'are reversed'],
  },
  rows: {
    needed: [['redemption_id']],
    optional: ['reason'],
    ignored: ['line', 'voucher_id', 'external_issue_id', 'recipient_user_id', 'reference', 'code_hint', 'redeemed_at'],
    metadata: true,
    spellings: { id: 'redemption_id', redemption: 'redemption_id' },
  },
  isKeyedByRun: true,
  keyParts: ({ redemption_id: id }, run) => (id === undefined ? undefined : [run, id]),
  parameters: ({ reason }) => ({ reason: reason ?? null }),
  word: () => 'reverse',
  input: ({ values, metadata }, { reason }) => ({
    redemptionId: values.redemption_id,
    reason: values.reason ?? reason ?? undefined,
    metadata,
  }),
  columns: {
    redemption_id: ofRow('redemption_id'),
    voucher_id: textAt('voucherId'),
    voucher_status: textAt('voucher.status'),
    redeemable: (data) => valueAt(data, 'voucher.redeemable') === true,
    reversed_at: textAt('reversedAt'),
  },
  id: 'redemption_id',
  errorIds: ['redemption_id'],
  runFailures: [],
})
