import { createContext } from './command/create-context.js'
import type { Leaf } from './command/leaf.js'
import { askMissing } from './command/required.js'
import type { CommandLine } from './command-line.js'
import { resolveSettings, tolerateSettings } from './config/settings.js'
import type { Failure } from './failure.js'
import { exitOf, usage } from './failure.js'
import { readFlags } from './flags/flags.js'
import type { Globals } from './flags/globals.js'
import { globalFlags } from './flags/globals.js'
import { scrubAll } from './host/scrub.js'
import { shellWord } from './host/shell.js'
import { untilAborted } from './host/until-aborted.js'
import { refuseUnknownInContract } from './output/fields.js'
import type { JqFilter } from './output/jq.js'
import type { Outcome } from './output/outcome.js'
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
  if (globals.fields !== undefined && leaf.output !== undefined && (leaf.changes || leaf.streams)) {
    const unknown = refuseUnknownInContract(globals.fields, leaf.output)
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
    shape: leaf.output,
    filter,
    noColor: globals['no-color'],
    quiet: globals.quiet,
    changes: leaf.changes ?? false,
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

/** Formats a parsed command line for a shell. It contains no secret, because no flag takes one. */
function commandOf({ path, given, operands, leaf }: CommandLine): string {
  const flags = { ...globalFlags, ...leaf?.flags }
  const options = [...given].flatMap(([name, values]) => {
    const takesValue = Object.hasOwn(flags, name) && flags[name as keyof typeof flags].value !== undefined
    return values.map((value) => (takesValue ? optionOf(name, value) : `--${name}`))
  })
  const isFlagLike = operands.some((it) => it.startsWith('-') && it !== '-')
  const words = [...(isFlagLike ? ['--'] : []), ...operands.map(shellWord)]
  return ['voucherctl', ...path, ...options, ...words].join(' ')
}

const optionOf = (name: string, value: string) =>
  value.startsWith('-') ? `--${name}=${shellWord(value)}` : `--${name} ${shellWord(value)}`

/** @param results prints the data of a success */
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
    return whole.filterError === undefined ? 0 : report(whole.filterError, output)
  }
  if ('pages' in outcome) {
    const { printPages } = await import('./output/pages.js')
    const failure = (await printPages(results, outcome.pages, leaf.view)) ?? results.filterError
    return failure === undefined ? 0 : report(failure, output)
  }
  if ('lines' in outcome) {
    const { gone } = output.host.stdout
    const { fields } = output.options
    const unknown = fields && leaf.output && refuseUnknownInContract(fields, leaf.output)
    if (unknown !== undefined) return report(unknown, output)
    for (;;) {
      // A stream that goes on takes its last line for read.
      if (gone?.aborted) return 0
      const next = await untilAborted(outcome.lines.next(), gone)
      if (next === undefined) return 0
      if (next.done) return next.value === undefined ? 0 : report(next.value, output)
      await results.printLine(next.value, leaf.view)
      if (results.filterError !== undefined) return report(results.filterError, output)
    }
  }
  if ('data' in outcome) await results.print(outcome.data, leaf.view)
  return results.filterError === undefined ? (outcome.exit ?? 0) : report(results.filterError, output)
}

async function report(failure: Failure, output: Output): Promise<number> {
  await output.fail(failure)
  return exitOf(failure)
}
