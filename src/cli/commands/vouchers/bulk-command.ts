import { mutates } from '../../../contract/endpoint.js'
import { defined } from '../../../values/json.js'
import type { BulkAction, Parameters } from '../../bulk/action.js'
import type { InputRow, RowMembers } from '../../bulk/input/row.js'
import type { BulkRun, BulkSummary } from '../../bulk/run.js'
import type { Context } from '../../command/context.js'
import { type GivenExample, type Leaf, leaf } from '../../command/leaf.js'
import { type Failure, fail } from '../../failures/failure.js'
import { type Flags, integer, one, path, required, toggle, type ValuesOf } from '../../flags/flags.js'
import type { Outcome } from '../../output/outcome.js'
import { numberText } from '../../output/text.js'

interface BulkCommand<F extends Flags> extends BulkAction {
  readonly summary: string
  readonly notes: readonly string[]
  /** Flags that only this bulk command has. */
  readonly flags: F
  readonly outSummary: string
  /** The help of a command that changes something adds the first one with --resume. */
  readonly examples: readonly [string, ...GivenExample[]]
  parameters(flags: ValuesOf<F>): Parameters
  /** Returns members with ids, which must not be values that a spreadsheet made, such as 8.61391E+12. */
  ids?(flags: ValuesOf<F>): readonly string[] | undefined
  /** Returns the word that a user types to confirm the run on a production server; absent if nothing is changed. */
  word?(flags: ValuesOf<F>): string
  headline?(summary: BulkSummary): string
  /** Exit code of a run without failed rows; default 0. */
  exit?(summary: BulkSummary, flags: ValuesOf<F>): number
}

/** Concurrent calls: twice the server's group commit, so that the server works while this process reads responses. */
const CONCURRENCY = 64
const CONCURRENCY_MAX = 256
/** Exit code of a run with failed rows. */
const SOME_FAILED = 11

/** Paragraph of help that all bulk commands share. */
const sharedNote =
  'Whatever ends a run, the same command with --resume goes on: rows that are done are skipped, failed ones tried again. A 429 slows a run down; an unreachable server ends it with exit code 9. `voucherctl help first-steps` describes the files.'

const delimiters: Readonly<Record<string, string>> = {
  ',': ',',
  comma: ',',
  ';': ';',
  semicolon: ';',
  '\t': '\t',
  '\\t': '\t',
  tab: '\t',
}

/** Flag of all commands that read rows. */
export const delimiter = one('CHAR', 'Comma, semicolon or tab; default as in the header', (text) => {
  const value = Object.hasOwn(delimiters, text) ? delimiters[text] : undefined
  return value === undefined ? { ok: false, message: 'must be comma, semicolon or tab' } : { ok: true, value }
})

const sharedFlags = (outSummary: string) => ({
  out: required(path('FILE', `${outSummary}; .csv, .ndjson or .jsonl`), 'File of the results'),
  errors: path('FILE', 'Rows that failed, and why'),
  concurrency: integer('N', `Maximum concurrent calls, default ${CONCURRENCY}`, 1, CONCURRENCY_MAX),
  delimiter,
  resume: toggle('Continue the run that wrote --out, or begin one'),
})
type SharedFlags = ValuesOf<ReturnType<typeof sharedFlags>>

/** Defines a command that makes one call for each row of a file (rules/cli.md#bulk-commands). */
export function bulkLeaf<const F extends Flags>(command: BulkCommand<F>): Leaf {
  const { name, summary, notes, endpoint, words } = command
  const [first, ...others] = command.examples
  const resumed = { command: `${first} --resume`, comment: 'Continues an interrupted run' }
  const members = ['total', words.done, ...(endpoint.idempotent ? ['replayed'] : []), 'skipped', 'failed']
  return leaf({
    name,
    summary,
    notes: [...notes, sharedNote],
    positional: { name: 'FILE', summary: 'CSV or NDJSON, or - for standard input', ask: 'File' },
    flags: { ...command.flags, ...sharedFlags(command.outSummary) },
    examples: mutates(endpoint) ? [first, resumed, ...others] : command.examples,
    changes: mutates(endpoint),
    ...(endpoint.accepts && { accepts: endpoint.accepts }),
    view: {
      headline: (it: BulkSummary) => failedSentence(it) ?? command.headline?.(it) ?? doneSentence(it, words.state[0]),
      // Test with `in`: reading a missing member would drop the view.
      isGood: (it) => it.failed === 0 && !('not_redeemable' in it && it.not_redeemable !== 0),
      members: [...members, 'out', 'errors', 'journal'],
      next: ({ next }) => next ?? undefined,
    },
    run: async (context, { positional, flags }): Promise<Outcome<BulkSummary>> => {
      const own = flags as ValuesOf<F>
      const shared = flags as SharedFlags
      const { checkPaths, pathsFrom, pathsOf } = await import('../../bulk/paths.js')
      const { cwd } = context.host
      const names = pathsOf(shared.out, shared.errors)
      const problem = checkPaths(names, positional, cwd)
      if (problem !== undefined) return problem
      const base = context.baseUrl()
      if (!base.ok) return base
      const credential = await context.credential(endpoint.caller, base.value)
      if (!credential.ok) return credential
      const { template, ...parameters } = command.parameters(own)
      const { idOf } = await import('../../command/names.js')
      const found = await idOf(context, 'template_id', template ?? undefined)
      if (!found.ok) return found
      const { openInput } = await import('../../bulk/input/input.js')
      const opened = await openInput(context.host, positional)
      if (!opened.ok) return opened
      try {
        const outcome = await runFrom(context, {
          action: command,
          rows: { ...rowsOf(context, command), ...defined({ delimiter: shared.delimiter, ids: command.ids?.(own) }) },
          parameters: found.value === undefined ? parameters : { ...parameters, template: found.value },
          word: command.word?.(own),
          input: opened.input,
          names,
          paths: pathsFrom(cwd, names),
          resume: shared.resume,
          concurrency: shared.concurrency ?? CONCURRENCY,
          baseUrl: base.value,
          token: credential.value,
          again: resumeCommand(context, name),
        })
        if (!('data' in outcome)) return outcome
        return { ...outcome, exit: outcome.data.failed > 0 ? SOME_FAILED : (command.exit?.(outcome.data, own) ?? 0) }
      } finally {
        await opened.input.close()
      }
    },
  })
}

const doneSentence = ({ total }: BulkSummary, state: string) =>
  `Every row ${state}: ${numberText(total)} of ${numberText(total)}.`

/** Says how many rows failed with which code; undefined if none failed. */
function failedSentence({ total, failed, failures }: BulkSummary): string | undefined {
  if (failed === 0) return undefined
  const codes = Object.entries(failures).map(([code, count]) => `${numberText(count)} ${code}`)
  return `${numberText(failed)} of ${numberText(total)} rows failed: ${codes.join(', ')}.`
}

/** Members of the rows; redeem codes are checked only if this server's codes have a known check symbol. */
function rowsOf(context: Context, { rows, checksCodes }: BulkAction): RowMembers {
  if (checksCodes === undefined) return rows
  return context.settings.hasReferenceCodes ? { ...rows, checksCodes } : rows
}

/** Command line that continues the run. */
const resumeCommand = ({ line }: Context, name: string) =>
  line.given.has('resume')
    ? String(line)
    : String(line).replace(`voucherctl vouchers ${name}`, (it) => `${it} --resume`)

type BulkOptions = Omit<BulkRun, 'identity' | 'total'> & {
  readonly word: string | undefined
}

async function runFrom(context: Context, options: BulkOptions): Promise<Outcome<BulkSummary>> {
  const { action, input, names, baseUrl, parameters, word } = options
  const { verb, gerund, noun } = action.words
  const { validateFile } = await import('../../bulk/validate-file.js')
  const validation = input.isFile ? await validateFile(context, options) : undefined
  if (validation !== undefined && 'ok' in validation) return validation
  const total = validation?.rows ?? null
  const count = total === null ? `the ${noun}s` : `${numberText(total)} ${noun}${total === 1 ? '' : 's'}`
  if (context.dryRun) {
    const shown = await planFirst(context, options, validation?.first)
    if ('ok' in shown) return shown
    const { plan } = context.plan(
      `${verb} ${count} of ${input.name}; results to ${names.out}, what fails to ${names.errors}, the journal to ${names.journal}`,
    )
    return { ok: false, plan: [...shown.requests, ...plan] }
  }
  if (word !== undefined) {
    const refusal = await context.confirm({ action: `${gerund} ${count} of ${input.name}`, word })
    if (refusal !== undefined) return refusal
  }
  const { parseBaseUrl } = await import('../../../client/base-url.js')
  const { origin, prefix } = parseBaseUrl(baseUrl)
  const identity = { ...parameters, server: origin + prefix, input_sha256: validation?.sha256 ?? null }
  const { runBulk } = await import('../../bulk/run.js')
  return runBulk(context, { ...options, identity, total })
}

/** Plans the call of the first row for a dry run, as an example of all calls. */
async function planFirst(
  { settings, host }: Context,
  { action, parameters, baseUrl, token }: BulkOptions,
  row: InputRow | undefined,
): Promise<{ readonly requests: readonly unknown[] } | Failure> {
  if (row === undefined) return { requests: [] }
  const { prepareCall } = await import('../../../client/call.js')
  const { planRequest } = await import('../../command/dry-run.js')
  const { keyOf } = await import('../../bulk/key.js')
  // The real run has another id; if the key contains it, this key differs.
  const key = action.endpoint.idempotent ? keyOf(action, row.values, host.newId(), parameters) : undefined
  const keyed = key === undefined ? {} : { idempotencyKey: key }
  const prepared = await prepareCall(action.endpoint, action.input(row, parameters), { token }, keyed)
  if (!prepared.ok) return fail('INVALID_INPUT', `${prepared.message}.`, null, prepared.details)
  const { mode, origin } = settings.secure
  return { requests: [planRequest(baseUrl, prepared.request, mode.value, origin.value, action.endpoint.body)] }
}
