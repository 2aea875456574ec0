import { vouchers as contract } from '../../../contract/vouchers.js'
import { asMembers } from '../../../values/json.js'
import { textAt } from '../../bulk/action.js'
import { toggle } from '../../flags/flags.js'
import { numberText } from '../../output/text.js'
import { bulkLeaf } from './bulk-command.js'
import { credentialInput, credentialKey, credentialRows } from './credential-rows.js'

const isRedeemable = (data: unknown) => asMembers(data)?.redeemable === true

export const verifyMany = bulkLeaf({
  name: 'verify-many',
  summary: 'Verify the voucher of each row of a CSV or NDJSON file',
  notes: [
    'CSV with a header line, or NDJSON, in UTF-8: redeem_code or qr_token, and optionally recipient_user_id, the user who presents it. The results of issue-many are such a file.',
    'Whatever it finds, the exit code is 0; with --check it is 6 if a voucher is not redeemable. A code that no voucher has is a result too: its reason is VOUCHER_NOT_FOUND, or VALIDATION_FAILED if it cannot be a code. Rows that could not be verified are in the list of errors: exit code 11.',
    'The results hold no codes: a row is known by its line and the last four symbols.',
  ],
  flags: { check: toggle('Exit with 6 when a voucher is not redeemable') },
  outSummary: 'Results',
  examples: [
    'voucherctl vouchers verify-many codes.csv --out verified.csv',
    {
      command: 'scan | voucherctl vouchers verify-many - --out verified.ndjson --check --json',
      comment: 'From a program, for a script',
    },
  ],
  endpoint: contract.verify,
  words: {
    verb: 'verify',
    gerund: 'Verifying',
    done: 'verified',
    noun: 'voucher',
    state: ['is verified', 'are verified'],
  },
  rows: credentialRows,
  isKeyedByRun: true,
  keyParts: credentialKey,
  parameters: () => ({}),
  input: credentialInput,
  columns: {
    redeemable: isRedeemable,
    reason: (data, row) => (isRedeemable(data) ? null : (textAt('reason')(data, row) ?? 'unknown')),
    voucher_id: textAt('voucher.id'),
    external_issue_id: (data, row) => textAt('voucher.externalIssueId')(data, row) ?? row.values.external_issue_id,
    recipient_user_id: textAt('voucher.recipientUserId'),
    status: textAt('voucher.status'),
    valid_from: textAt('voucher.validFrom'),
    valid_until: textAt('voucher.validUntil'),
    redemption_id: textAt('voucher.redemptionId'),
    code_hint: textAt('voucher.codeHint'),
  },
  id: 'voucher_id',
  errorIds: ['external_issue_id', 'recipient_user_id'],
  runFailures: [],
  findings: ['VOUCHER_NOT_FOUND', 'VALIDATION_FAILED'],
  tally: 'reason',
  summarise: ({ done, skipped, tallied }) => {
    const refused = [...tallied.values()].reduce((sum, count) => sum + count, 0)
    return {
      redeemable: done + skipped - refused,
      not_redeemable: refused,
      reasons: Object.fromEntries(tallied),
    }
  },
  headline: ({ total, redeemable, reasons = {} }) => {
    const found = Object.entries(reasons).map(([reason, count]) => `${numberText(count)} ${reason}`)
    const ofAll = `${numberText(redeemable ?? 0)} of ${numberText(total)}`
    return `${ofAll} vouchers are redeemable${found.length === 0 ? '' : `; not redeemable: ${found.join(', ')}`}.`
  },
  exit: ({ not_redeemable: refused = 0 }, { check }) => (check && refused > 0 ? 6 : 0),
})
