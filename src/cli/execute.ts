import { parseArguments } from './arguments.js'
import { createContext } from './context.js'
import type { Failure } from './failure.js'
import { exitOf, usage } from './failure.js'
import type { Flag, Flags } from './flags.js'
import type { Globals } from './globals.js'
import { globalFlags, knownFormat } from './globals.js'
import type { Host } from './host.js'
import type { Leaf, Outcome } from './leaf.js'
import { askMissing } from './missing.js'
import { flagIn, operandsOf } from './operands.js'
import { Output } from './output.js'
import type { Entry } from './program.js'
import { scrubAll } from './scrub.js'
import { resolveSettings, storedFormat, tolerateSettings } from './settings.js'
import { untilAborted } from './until-aborted.js'

/** Runs the command that the arguments name, and answers its exit code. `asked` is the format in the flags or the environment. */
export async function execute(
  argv: readonly string[],
  entry: Entry | undefined,
  host: Host,
  asked: string | undefined,
): Promise<number> {
  const failed = new Output(host, {
    // Read when there is a failure to show: a command whose flags are right has its format from its settings.
    get format() {
      return knownFormat(asked ?? storedFormat(host, flagIn(argv, 'profile', 'p')))
    },
  })

  const parsed = parseArguments(argv, await entry?.load())
  if (!parsed.ok) return report(entry === undefined ? await suggested(parsed, argv) : parsed, failed)
  const { leaf, path, given } = parsed
  const read = readFlags(globalFlags, given)
  if (!read.ok) return report(read, failed)
  const globals = read.values as Globals
  const command = path.join(' ')
  if (globals.json && globals.output !== undefined && globals.output !== 'json') {
    return report(usage('--json and --output name different formats.'), failed)
  }
  if (globals.jq !== undefined && globals.output !== undefined && !globals.output.startsWith('json')) {
    return report(usage(`--jq prints JSON; it goes without --output ${globals.output}.`), failed)
  }
  if (globals.fields !== undefined && leaf.answers !== undefined && (leaf.changes || leaf.streams)) {
    const { refuseUnknownInContract } = await import('./fields.js')
    const unknown = refuseUnknownInContract(globals.fields, leaf.answers)
    if (unknown !== undefined) return report(unknown, failed)
  }
  if (globals['idempotency-key'] !== undefined && leaf.idempotent !== true) {
    return report(
      usage(`--idempotency-key has no meaning for ${command}.`, 'It belongs to vouchers issue, redeem and reverse.'),
      failed,
    )
  }
  const resolved = resolveSettings(host, globals)
  if (!resolved.ok && leaf.diagnoses !== true) return report(resolved, failed)
  const settings = resolved.ok ? resolved.settings : tolerateSettings(host, globals).settings
  const filter = globals.jq === undefined ? undefined : await openFilter(globals.jq, host)
  const output = new Output(host, {
    format: settings.format.value,
    fields: globals.fields,
    shape: leaf.answers,
    filter,
    noColor: globals['no-color'],
    quiet: globals.quiet,
    changes: leaf.changes === true,
  })
  const invalid = await filter?.check()
  if (invalid !== undefined) return report(invalid, output)
  const own = readFlags(leaf.flags ?? {}, given)
  if (!own.ok) return report(own, output)
  const context = createContext(host, globals, settings, output)
  const complete = await askMissing(leaf, own.values, parsed, context)
  if (!complete.ok) return report(complete, output)
  const outcome = await leaf.run(context, complete.input)
  const isJson = leaf.json === true && settings.format.source === 'default'
  const reads = 'reads' in outcome && outcome.reads === true
  const other = { ...(isJson ? { format: 'json' as const } : {}), ...(reads ? { changes: false } : {}) }
  const results = isJson || reads ? new Output(host, { ...output.options, ...other }) : output
  const exit = await finish(outcome, leaf, output, results)
  // Not beside a failure, whose error object stands alone on stderr.
  if (outcome.ok && leaf.diagnoses !== true) for (const it of settings.warnings) output.notice(`warning: ${it}`)
  return exit
}

/** What was typed without its group. */
async function suggested(mistake: Failure, argv: readonly string[]): Promise<Failure> {
  const [name] = operandsOf(argv)
  if (name === undefined || mistake.hint?.startsWith('See') !== true) return mistake
  const { commandsNamed } = await import('./elsewhere.js')
  const found = (await commandsNamed(name)).map((it) => `\`voucherctl ${it}\``)
  return found.length === 0 ? mistake : { ...mistake, hint: `Did you mean ${found.join(' or ')}?` }
}

/** Loaded where it is asked for: jq takes as long to start as a command. */
async function openFilter(expression: string, { signal }: Host) {
  const { JqFilter } = await import('./jq.js')
  return new JqFilter(expression, signal)
}

/** @param results prints what a success answers */
async function finish(outcome: Outcome<unknown>, leaf: Leaf, output: Output, results: Output): Promise<number> {
  if (!outcome.ok) {
    if (!('plan' in outcome)) return report(outcome, output)
    const { showPlan } = await import('./dry-run.js')
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
    const unknown =
      fields && leaf.answers && (await import('./fields.js')).refuseUnknownInContract(fields, leaf.answers)
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

type FlagsRead = { readonly ok: true; readonly values: Record<string, unknown> } | Failure

function readFlags(flags: Flags, given: ReadonlyMap<string, readonly string[]>): FlagsRead {
  const values: Record<string, unknown> = {}
  for (const [name, flag] of Object.entries<Flag<unknown>>(flags)) {
    const texts = given.get(name) ?? []
    if (texts.length > 1 && flag.value !== undefined && !flag.repeatable)
      return usage(`--${name} was given ${texts.length} times; it takes one value.`)
    const read = flag.read(texts)
    if (!read.ok) return usage(`--${name} ${read.message}.`)
    values[name] = read.value
  }
  return { ok: true, values }
}
