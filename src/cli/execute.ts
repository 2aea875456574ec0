import { commandOf } from './command/command-of.js'
import { createContext } from './command/context.js'
import type { Leaf, Outcome } from './command/leaf.js'
import { askMissing } from './command/required.js'
import type { CommandLine } from './command-line.js'
import { resolveSettings, tolerateSettings } from './config/settings.js'
import type { Failure } from './failure.js'
import { exitOf, usage } from './failure.js'
import { readFlags } from './flags/flags.js'
import type { Globals } from './flags/globals.js'
import { scrubAll } from './host/scrub.js'
import { untilAborted } from './host/until-aborted.js'
import { refuseUnknownInContract } from './output/fields.js'
import type { JqFilter } from './output/jq.js'
import { Output } from './output/output.js'

/** Runs the command of a parsed line and returns its exit code. */
export async function execute(
  line: CommandLine,
  globals: Globals,
  filter: JqFilter | undefined,
  failed: Output,
): Promise<number> {
  const { host } = failed
  const { leaf } = line
  if (leaf === undefined) throw new Error('the parser must refuse a line without a command')
  if (globals.fields !== undefined && leaf.answers !== undefined && (leaf.changes || leaf.streams)) {
    const unknown = refuseUnknownInContract(globals.fields, leaf.answers)
    if (unknown !== undefined) return report(unknown, failed)
  }
  if (globals['idempotency-key'] !== undefined && leaf.idempotent !== true) {
    return report(
      usage(
        `--idempotency-key has no meaning for ${line.path.join(' ')}.`,
        'It belongs to vouchers issue, redeem and reverse.',
      ),
      failed,
    )
  }
  const resolved = resolveSettings(host, globals)
  if (!resolved.ok && leaf.diagnoses !== true) return report(resolved, failed)
  const settings = resolved.ok ? resolved.settings : tolerateSettings(host, globals).settings
  const output = new Output(host, {
    format: settings.format.value,
    fields: globals.fields,
    shape: leaf.answers,
    filter,
    noColor: globals['no-color'],
    quiet: globals.quiet,
    changes: leaf.changes === true,
  })
  const own = readFlags(leaf.flags ?? {}, line.given)
  if (own.failure !== undefined) return report(own.failure, output)
  const context = createContext(host, globals, settings, output, commandOf(line))
  const complete = await askMissing(leaf, own.values, line.operands, context)
  if (!complete.ok) return report(complete, output)
  const outcome = await leaf.run(context, complete.input)
  const isJson = leaf.json === true && settings.format.source === 'default'
  const reads = 'reads' in outcome && outcome.reads === true
  const other = { ...(isJson ? { format: 'json' as const } : {}), ...(reads ? { changes: false } : {}) }
  const results = isJson || reads ? new Output(host, { ...output.options, ...other }) : output
  const exit = await finish(outcome, leaf, output, results)
  if (outcome.ok) output.flushWarnings()
  // Not beside a failure, whose error object stands alone on stderr.
  if (outcome.ok && leaf.diagnoses !== true) for (const it of settings.warnings) output.notice(`warning: ${it}`)
  return exit
}

/** @param results prints what a success answers */
async function finish(outcome: Outcome<unknown>, leaf: Leaf, output: Output, results: Output): Promise<number> {
  if (!outcome.ok) {
    if (!('plan' in outcome)) return report(outcome, output)
    const { showPlan } = await import('./command/dry-run.js')
    const { host } = output
    const plan = scrubAll(host, outcome.plan) as typeof outcome.plan
    const requests = plan.filter((it) => !('action' in (it as object)))
    const actions = plan.filter((it) => 'action' in (it as object)).map((it) => (it as { action: string }).action)
    const whole = new Output(host, { ...output.options, fields: undefined, changes: false })
    await whole.print(
      { dry_run: true, requests, actions },
      { headline: () => 'Dry run: nothing was sent and nothing was changed.', body: () => showPlan(plan) },
    )
    return whole.trouble === undefined ? 0 : report(whole.trouble, output)
  }
  if ('pages' in outcome) {
    const failure = (await results.printPages(outcome.pages, leaf.view)) ?? results.trouble
    return failure === undefined ? 0 : report(failure, output)
  }
  if ('lines' in outcome) {
    const { gone } = output.host.stdout
    const { fields } = output.options
    const unknown = fields && leaf.answers && refuseUnknownInContract(fields, leaf.answers)
    if (unknown !== undefined) return report(unknown, output)
    for (;;) {
      // A stream that goes on takes its last line for read.
      if (gone?.aborted) return 0
      const next = await untilAborted(outcome.lines.next(), gone)
      if (next === undefined) return 0
      if (next.done) return next.value === undefined ? 0 : report(next.value, output)
      await results.printLine(next.value, leaf.view)
      if (results.trouble !== undefined) return report(results.trouble, output)
    }
  }
  if ('data' in outcome) await results.print(outcome.data, leaf.view)
  return results.trouble === undefined ? (outcome.exit ?? 0) : report(results.trouble, output)
}

async function report(failure: Failure, output: Output): Promise<number> {
  await output.fail(failure)
  return exitOf(failure)
}
