import { parseBaseUrl } from '../../../client/base-url.js'
import * as contract from '../../../contract/vouchers.js'
import type { Context } from '../../command/context.js'
import { leaf } from '../../command/leaf.js'
import { type Failure, fail } from '../../failure.js'
import { integer, required, text, toggle } from '../../flags/flags.js'
import type { Outcome } from '../../output/outcome.js'
import type { InputRow } from './bulk/input/row.js'
import type { BulkRun, BulkSummary } from './bulk/run.js'

/** Concurrent calls: twice the server's group commit, so that the server has work while responses are being read. */
const CONCURRENCY = 64
const CONCURRENCY_MAX = 256

export const issueMany = leaf({
  name: 'issue-many',
  summary: 'Issue one voucher for each row of a CSV or NDJSON file',
  notes: [
    'CSV with a header line, or NDJSON: external_issue_id, recipient_user_id, and optional metadata: columns metadata.NAME, or one column or member metadata with a JSON object. UTF-8. - reads standard input, which begins with { where it is NDJSON.',
    'A file is read through first. Where a row cannot be sent (a value is missing, an external_issue_id comes twice, a line is malformed) nothing is issued: exit code 2, each row with its line in the list of errors. From a pipe such rows fail one by one and the others are issued.',
    'The results go to --out as they come, readable by you alone: they hold the redeem codes and QR tokens. The list of errors (default: OUT with .errors before its ending) has each row without a voucher, and why: then the exit code is 11.',
    'OUT.journal records what each row got, and holds no code. Whatever ends a run, the same command with --resume goes on: each row is issued exactly once, rows that failed are tried again. It goes on with the same template, server and file only.',
    'Calls that fail for now are repeated. Where the server asks to wait (429), all wait, and fewer calls run at once. A server that is away ends the run with exit code 9. Ctrl-C finishes what is in flight.',
    'Each recipient must come from user authorization or an existing business relationship, and must not be enumerated.',
  ],
  positional: { name: 'FILE', summary: 'CSV or NDJSON, or - for standard input', ask: 'File' },
  flags: {
    template: required(text('ID', 'Active template, tpl_…'), 'Template id'),
    out: required(text('FILE', 'Results with their codes; .csv, .ndjson or .jsonl'), 'File of the results'),
    errors: text('FILE', 'Rows without a voucher, and why'),
    concurrency: integer('N', `Calls at once at most, default ${CONCURRENCY}`, 1, CONCURRENCY_MAX),
    resume: toggle('Go on with the run that --out is from, or begin one'),
  },
  examples: [
    { command: 'voucherctl vouchers issue-many customers.csv --template tpl_01JC… --out codes.csv' },
    {
      command: 'voucherctl vouchers issue-many customers.csv --template tpl_01JC… --out codes.csv --resume',
      comment: 'Goes on where a run was ended',
    },
    {
      command: 'export-customers | voucherctl vouchers issue-many - --template tpl_01JC… --out codes.ndjson --json',
      comment: 'From a program, for a script',
    },
  ],
  changes: true,
  view: {
    headline: ({ total, failed }: BulkSummary) =>
      failed === 0 ? `Every row has its voucher: ${total} of ${total}.` : undefined,
    members: ['total', 'issued', 'replayed', 'skipped', 'failed', 'out', 'errors', 'journal'],
  },
  run: async (context, { positional, flags }): Promise<Outcome<BulkSummary>> => {
    const { checkPaths, pathsFrom, pathsOf } = await import('./bulk/run-files.js')
    const { cwd } = context.host
    const names = pathsOf(flags.out, flags.errors)
    const problem = checkPaths(names, positional, cwd)
    if (problem !== undefined) return problem
    const base = context.baseUrl()
    if (!base.ok) return base
    const credential = await context.credential(contract.issue.caller, base.value)
    if (!credential.ok) return credential
    const { openInput } = await import('./bulk/input/input.js')
    const opened = await openInput(context.host, positional)
    if (!opened.ok) return opened
    try {
      return await issueFrom(context, {
        input: opened.input,
        template: flags.template,
        names,
        paths: pathsFrom(cwd, names),
        resume: flags.resume,
        concurrency: flags.concurrency ?? CONCURRENCY,
        baseUrl: base.value,
        token: credential.value,
      })
    } finally {
      await opened.input.close()
    }
  },
})

type BulkOptions = Omit<BulkRun, 'identity' | 'total'> & { readonly template: string }

async function issueFrom(context: Context, options: BulkOptions): Promise<Outcome<BulkSummary>> {
  const { input, template, names, paths, baseUrl } = options
  const { validateFile } = await import('./bulk/validate-file.js')
  const validation = input.isFile ? await validateFile(context, input, paths) : undefined
  if (validation !== undefined && 'ok' in validation) return validation
  const count = validation === undefined ? 'the vouchers' : `${validation.rows.toLocaleString('en-US')} vouchers`
  if (context.dryRun) {
    const shown = await planFirst(context, options, validation?.first)
    if ('ok' in shown) return shown
    const { plan } = context.plan(
      `issue ${count} of ${input.name}; results to ${names.out}, what fails to ${names.errors}, the journal to ${names.journal}`,
    )
    return { ok: false, plan: [...shown.requests, ...plan] }
  }
  const refusal = await context.confirm({ action: `Issuing ${count} of ${input.name}`, word: template })
  if (refusal !== undefined) return refusal
  const { origin, prefix } = parseBaseUrl(baseUrl)
  const identity = { template, server: origin + prefix, input_sha256: validation?.sha256 ?? null }
  const { runBulk } = await import('./bulk/run.js')
  return runBulk(context, { ...options, identity, total: validation?.rows ?? null })
}

/** Plans the call of the first row for a dry run, as an example of all calls. */
async function planFirst(
  { settings }: Context,
  { template, baseUrl, token }: BulkOptions,
  row: InputRow | undefined,
): Promise<{ readonly requests: readonly unknown[] } | Failure> {
  if (row === undefined) return { requests: [] }
  const { prepareCall } = await import('../../../client/prepare.js')
  const { planRequest } = await import('../../command/dry-run.js')
  const { idempotencyKeyOf } = await import('./bulk/input/row.js')
  const { line: _line, ...members } = row
  const idempotencyKey = idempotencyKeyOf(template, row)
  const call = { template_id: template, ...members }
  const prepared = await prepareCall(contract.issue, call, { token }, { idempotencyKey })
  if (!prepared.ok) return fail('INVALID_INPUT', `${prepared.message}.`, null, prepared.details)
  const { mode, origin } = settings.secure
  return { requests: [planRequest(baseUrl, prepared.request, mode.value, origin.value, contract.issue.id)] }
}
