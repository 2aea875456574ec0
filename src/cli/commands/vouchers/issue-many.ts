import { vouchers as contract } from '../../../contract/vouchers.js'
import { ofRow, textAt } from '../../bulk/action.js'
import type { RowMembers } from '../../bulk/input/row.js'
import { at, required, text, toggle } from '../../flags/flags.js'
import { bulkLeaf } from './bulk-command.js'
import { credentialOf } from './issue.js'

export const issuanceRows: RowMembers = {
  needed: [['external_issue_id'], ['recipient_user_id']],
  optional: [],
  ignored: [],
  metadata: true,
  spellings: { externalid: 'external_issue_id', recipient: 'recipient_user_id' },
}

export const issueMany = bulkLeaf({
  name: 'issue-many',
  summary: 'Issue one voucher for each row of a CSV or NDJSON file',
  notes: [
    'CSV with a header line, or NDJSON, in UTF-8: external_issue_id, recipient_user_id, and optionally metadata (columns metadata.NAME, or one column or member metadata with a JSON object). Each recipient must come from user authorization or an existing business relationship, and must not be enumerated.',
    'The whole file is checked first. With a malformed row, or with an external_issue_id twice, nothing is issued: exit code 2. From a pipe such rows fail one by one. Rows that failed are in the list of errors (default: OUT with .errors before its ending), each with its reason: exit code 11.',
    'The results hold the redeem codes and QR tokens, readable by you alone. Each row is issued exactly once, however often a run is repeated or resumed.',
  ],
  flags: {
    template: required(at('template_id', text('ID', 'Active template, tpl_…')), 'Template id'),
    'allow-spreadsheet-values': toggle('Keep ids such as 8.61391E+12, #REF! and dates'),
  },
  outSummary: 'Results with their codes',
  examples: [
    'voucherctl vouchers issue-many customers.csv --template tpl_01JC… --out codes.csv',
    {
      command: 'export-customers | voucherctl vouchers issue-many - --template tpl_01JC… --out codes.ndjson --json',
      comment: 'From a program, for a script',
    },
  ],
  endpoint: contract.issue,
  words: {
    verb: 'issue',
    gerund: 'Issuing',
    done: 'issued',
    noun: 'voucher',
    state: ['has its voucher', 'have their voucher'],
  },
  rows: issuanceRows,
  isKeyedByRun: false,
  // Leave out metadata, which does not identify a voucher (rules/vouchers.md#issue).
  keyParts: (values, _run, { template }) => [template, values.external_issue_id, values.recipient_user_id],
  parameters: ({ template }) => ({ template }),
  ids: (flags) => (flags['allow-spreadsheet-values'] ? undefined : issuanceRows.needed.flat()),
  word: ({ template }) => template,
  input: ({ values, metadata }, { template }) => ({ template_id: template, ...values, metadata }),
  columns: {
    external_issue_id: ofRow('external_issue_id'),
    recipient_user_id: ofRow('recipient_user_id'),
    voucher_id: textAt('id'),
    redeem_code: (data) => credentialOf(data, 'redeem_code'),
    qr_token: (data) => credentialOf(data, 'qr_token'),
    valid_from: textAt('validFrom'),
    valid_until: textAt('validUntil'),
    name: textAt('name'),
    issuer_name: textAt('issuerName'),
  },
  id: 'voucher_id',
  errorIds: ['external_issue_id', 'recipient_user_id'],
  // An exhausted quota fails only single rows: the server still returns vouchers that exist.
  runFailures: ['TEMPLATE_NOT_FOUND', 'TEMPLATE_NOT_ACTIVE', 'TEMPLATE_VALIDITY_ENDED'],
})
