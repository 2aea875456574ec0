import type { Context } from './command/context.js'
import { createContext } from './command/create-context.js'
import type { Leaf } from './command/leaf.js'
import { LineWithAnswers } from './command/line-with-answers.js'
import type { CommandLine } from './command-line.js'
import { resolveSettings } from './config/settings.js'
import { unknownVariables } from './config/unknown-variables.js'
import { type Failure, suggestionsOf, usage } from './failures/failure.js'
import { readFlags } from './flags/flags.js'
import { type Globals, hasPlainErrors } from './flags/globals.js'
import { untilAborted } from './host/files.js'
import type { JqFilter } from './output/jq.js'
import type { Lines, Outcome } from './output/outcome.js'
import { Output } from './output/output.js'
import { refuseUnknownInContract } from './output/select-fields.js'
import { askMissing } from './prompts/required.js'

export { storedFormat } from './config/settings.js'

export async function execute(
  line: CommandLine,
  globals: Globals,
  filter: JqFilter | undefined,
  failed: Output,
): Promise<number> {
  const { host } = failed
  const { leaf } = line
  if (leaf === undefined) throw new Error('the parser must refuse a line without a command')
  const refused = refuseGlobals(line, leaf, globals)
  if (refused !== undefined) return failed.fail(refused)
  const resolved = resolveSettings(host, globals, leaf.needsBaseUrl?.(line.given))
  if (!resolved.ok && leaf.diagnoses !== true) return failed.fail(resolved)
  const { settings } = resolved.ok ? resolved : (await import('./config/diagnosis.js')).diagnoseSettings(host, globals)
  const answered = new LineWithAnswers(line)
  const output = new Output(host, {
    format: settings.format.value,
    fields: globals.fields,
    shape: leaf.output,
    filter,
    noColor: globals['no-color'],
    quiet: globals.quiet,
    wide: globals.wide,
    utc: globals.utc,
    changes: leaf.changes ?? false,
    plainErrors: hasPlainErrors(line.given, host),
    nameOf: (pointer) => answered.nameOf(pointer),
    suggest: suggestionsOf(host.env, answered.given),
  })
  const own = readFlags(leaf.flags ?? {}, line.given)
  if (own.failure !== undefined) return output.fail(own.failure)
  if (!output.isJson && host.stderr.isTTY === true) printRemarks(line, leaf, output)
  const context = createContext(host, globals, settings, output, answered)
  let exit: number | undefined
  try {
    exit = await runLeaf(leaf, context, own.values)
    return exit
  } finally {
    // Print the line even after a failure or a bug, so that no typed input is lost.
    if (answered.hasAnswers && (exit !== 0 || !globals.quiet))
      output.tell(`${exit === 0 ? '\n' : ''}The same command with these answers: \`${answered}\``)
  }
}

/** Refuses --fields that the command cannot print, and --idempotency-key where it has no meaning. */
function refuseGlobals(line: CommandLine, leaf: Leaf, globals: Globals): Failure | undefined {
  if (globals.fields !== undefined && leaf.output !== undefined && (leaf.changes || leaf.streams)) {
    const unknown = refuseUnknownInContract(globals.fields, leaf.output)
    if (unknown !== undefined) return unknown
  }
  if (globals['idempotency-key'] === undefined || leaf.idempotent === true) return undefined
  const meaningless = `--idempotency-key has no meaning for ${line.path.join(' ')}.`
  return usage(meaningless, 'It belongs to vouchers issue, redeem and reverse.')
}

/** Prints remarks of flags on their values, such as the zone of a time without one. */
function printRemarks(line: CommandLine, leaf: Leaf, output: Output): void {
  for (const [name, { remark }] of Object.entries(leaf.flags ?? {})) {
    const remarks = (line.given.get(name) ?? []).map((text) => remark?.(`--${name}`, text))
    for (const text of remarks) if (text !== undefined) output.notice(text)
  }
}

async function runLeaf(leaf: Leaf, context: Context, flags: Readonly<Record<string, unknown>>): Promise<number> {
  const { output, settings, host } = context
  const complete = await askMissing(leaf, flags, context)
  if (!complete.ok) return output.fail(complete)
  const outcome = await leaf.run(context, complete.input)
  const isJson = leaf.json === true && outcome.ok && settings.format.source === 'default'
  const reads = 'reads' in outcome && outcome.reads === true
  const format = isJson ? 'json' : output.options.format
  const changes = !reads && output.options.changes === true
  const results = isJson || reads ? new Output(host, { ...output.options, format, changes }) : output
  const shown = await show(outcome, leaf, results)
  const unknown = unknownVariables(host, context.line.path[0])
  const exit = typeof shown === 'number' ? shown : await output.fail(withNotes(await advised(context, shown), unknown))
  if (outcome.ok) output.flushWarnings()
  // Print no warnings on failure: stderr must hold only the error object.
  if (outcome.ok && leaf.diagnoses !== true) for (const it of settings.warnings) output.notice(`warning: ${it}`)
  if (typeof shown === 'number') for (const it of unknown) output.notice(`warning: ${it}`)
  return exit
}

const withNotes = (failure: Failure, notes: readonly string[]): Failure =>
  notes.length === 0 ? failure : { ...failure, hint: [failure.hint ?? [], notes].flat().join(' ') }

const adviceCodes = 'NETWORK_ERROR TOKEN_EXPIRED LOCAL_SERVER_NOT_RUNNING TEST_CLOCK_OFF CREDENTIAL_REQUIRED'.split(' ')

/** Adds local advice to frequent failures: which command helps on this machine. */
async function advised(context: Context, failure: Failure): Promise<Failure> {
  if (failure.status === 403) return (await import('./command/token-owner.js')).withTokenAdvice(context, failure)
  if (!adviceCodes.includes(failure.code)) return failure
  const { withLocalAdvice } = await import('./command/local-advice.js')
  return withLocalAdvice(context, failure)
}

/** Prints the result of a command. @returns the exit code, or a failure that the caller must print */
async function show(outcome: Outcome<unknown>, { view }: Leaf, output: Output): Promise<number | Failure> {
  if ('plan' in outcome) {
    const { printPlan } = await import('./command/dry-run.js')
    return (await printPlan(outcome.plan, output)) ?? 0
  }
  if (!outcome.ok) return outcome
  if ('pages' in outcome) {
    const { printPages } = await import('./output/pages.js')
    const { empty = view?.empty } = outcome
    return (await printPages(output, outcome.pages, { ...view, empty })) ?? output.filterError ?? 0
  }
  if ('lines' in outcome) return (await printLines(outcome.lines, view, output)) ?? 0
  if ('data' in outcome) {
    const { empty = view?.empty } = outcome
    await output.print(outcome.data, { ...view, empty })
  }
  return output.filterError ?? outcome.failure ?? outcome.exit ?? 0
}

async function printLines(lines: Lines<unknown>['lines'], view: Leaf['view'], output: Output) {
  const { gone } = output.host.stdout
  const { fields, shape } = output.options
  const unknown = fields && shape && refuseUnknownInContract(fields, shape)
  if (unknown !== undefined) return unknown
  for (;;) {
    // End without a failure if the reader has closed the pipe.
    if (gone?.aborted) return undefined
    const next = await untilAborted(lines.next(), gone)
    if (next === undefined) return undefined
    if (next.done) return next.value
    await output.printLine(next.value, view)
    if (output.filterError !== undefined) return output.filterError
  }
}
