import type { Failure } from './failure.js'
import { exitOf, fail, usage } from './failure.js'
import type { Flag, Flags } from './flags.js'
import type { Globals } from './globals.js'
import { formats, globalFlags } from './globals.js'
import type { Host } from './host.js'
import type { Leaf, Outcome } from './leaf.js'
import { Output } from './output.js'
import { findEntry } from './program.js'

/** Runs one command line and answers its exit code. */
export async function run(argv: readonly string[], host: Host): Promise<number> {
  const early = new Output(host, { format: guessFormat(argv, host) })
  try {
    return await dispatch(argv, host, early)
  } catch (error) {
    // A bug: its text may hold anything, so that it is shown only when asked for.
    const hint = 'Run it again with --debug to see where, and report it.'
    await early.fail(fail('UNEXPECTED', 'voucherctl failed unexpectedly.', argv.includes('--debug') ? null : hint))
    if (argv.includes('--debug')) early.trace(error instanceof Error ? (error.stack ?? error.message) : String(error))
    return 1
  }
}

async function dispatch(argv: readonly string[], host: Host, early: Output): Promise<number> {
  const own = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv
  const { operandsOf } = await import('./operands.js')
  const operands = operandsOf(argv)
  const asksHelp = own.includes('--help') || own.includes('-h') || operands[0] === 'help'
  if (operands.length === 0 && !asksHelp && own.includes('--version')) return showVersion(early, host.version())
  const names = operands[0] === 'help' ? operands.slice(1) : operands
  if (asksHelp || own.length === 0) {
    const { showHelp } = await import('./show-help.js')
    if (await showHelp(names, early)) return 0
  }
  const loaded = await findEntry(names[0])?.load()
  const { parseArguments } = await import('./arguments.js')
  // Help of something that is not there: the parser knows what was meant.
  const parsed = parseArguments(asksHelp ? names : argv, loaded)
  if (!parsed.ok) return report(parsed, early)
  const read = readFlags(globalFlags, parsed.given)
  if (!read.ok) return report(read, early)
  return execute(parsed.leaf, parsed, read.values as Globals, host, early)
}

async function execute(
  leaf: Leaf,
  {
    path,
    given,
    positional,
  }: { path: readonly string[]; given: ReadonlyMap<string, readonly string[]>; positional: string | undefined },
  globals: Globals,
  host: Host,
  early: Output,
): Promise<number> {
  const command = path.join(' ')
  if (globals.json && globals.output !== undefined && globals.output !== 'json') {
    return report(usage('--json and --output name different formats.'), early)
  }
  if (globals['idempotency-key'] !== undefined && leaf.idempotent !== true) {
    return report(
      usage(`--idempotency-key has no meaning for ${command}.`, 'It belongs to vouchers issue, redeem and reverse.'),
      early,
    )
  }
  const { resolveSettings } = await import('./settings.js')
  const resolved = resolveSettings(host, globals)
  if (!resolved.ok) return report(resolved, early)
  const output = new Output(host, {
    format: resolved.settings.format.value,
    fields: globals.fields,
    noColor: globals['no-color'],
    quiet: globals.quiet,
    changes: leaf.changes === true,
  })
  const own = readFlags(leaf.flags ?? {}, given)
  if (!own.ok) return report(own, output)
  const { createContext } = await import('./context.js')
  const context = createContext(host, globals, resolved.settings, output)
  const { askMissing } = await import('./missing.js')
  const complete = await askMissing(leaf, own.values, positional, context)
  if (!complete.ok) return report(complete, output)
  const outcome = await leaf.run(context, complete.input)
  return finish(outcome, leaf, output)
}

async function finish(outcome: Outcome<unknown>, leaf: Leaf, output: Output): Promise<number> {
  if (!outcome.ok) {
    if (!('plan' in outcome)) return report(outcome, output)
    const { showPlan } = await import('./dry-run.js')
    const requests = outcome.plan.filter((it) => !('action' in (it as object)))
    const actions = outcome.plan
      .filter((it) => 'action' in (it as object))
      .map((it) => (it as { action: string }).action)
    await new Output(output.host, { ...output.options, fields: undefined, changes: false }).print(
      { dry_run: true, requests, actions },
      { headline: () => 'Dry run: nothing was sent and nothing was changed.', body: () => showPlan(outcome.plan) },
    )
    return 0
  }
  if ('lines' in outcome) {
    for (;;) {
      const next = await outcome.lines.next()
      if (next.done) return next.value === undefined ? 0 : report(next.value, output)
      await output.printLine(next.value, leaf.view)
    }
  }
  if ('data' in outcome) await output.print(outcome.data, leaf.view)
  return outcome.exit ?? 0
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

async function showVersion(output: Output, version: string): Promise<number> {
  if (output.options.format === 'table') output.say(version)
  else await output.print({ version })
  return 0
}

/** The format of errors that come before the flags were read. */
function guessFormat(argv: readonly string[], { env }: Host) {
  const named = argv.find((it) => it.startsWith('--output='))?.slice('--output='.length)
  const at = argv.findIndex((it) => it === '-o' || it === '--output')
  const found = argv.includes('--json')
    ? 'json'
    : (named ?? (at >= 0 ? argv[at + 1] : undefined) ?? env.VOUCHERCTL_OUTPUT)
  return formats.find((it) => it === found) ?? 'table'
}
