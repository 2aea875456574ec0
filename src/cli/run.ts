import type { Failure } from './failure.js'
import { exitOf, fail } from './failure.js'
import { knownFormat } from './globals.js'
import type { Host } from './host.js'
import type { JqFilter } from './jq.js'
import { flagIn, operandsOf } from './operands.js'
import { Output } from './output.js'
import { findEntry } from './program.js'

/** Runs one command line and answers its exit code. */
export async function run(argv: readonly string[], host: Host): Promise<number> {
  const asked = formatIn(argv, host)
  const shown = new Output(host, { format: knownFormat(asked) })
  try {
    return await dispatch(argv, host, shown, asked)
  } catch (error) {
    // A bug: its text may hold anything, so that it is shown only when asked for.
    const hint = 'Run it again with --debug to see where, and report it.'
    await shown.fail(fail('UNEXPECTED', 'voucherctl failed unexpectedly.', argv.includes('--debug') ? null : hint))
    if (argv.includes('--debug')) shown.trace(error instanceof Error ? (error.stack ?? error.message) : String(error))
    return 1
  }
}

async function dispatch(
  argv: readonly string[],
  host: Host,
  shown: Output,
  asked: string | undefined,
): Promise<number> {
  const own = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv
  const operands = operandsOf(argv)
  const asksHelp = own.includes('--help') || own.includes('-h') || operands[0] === 'help'
  const names = operands[0] === 'help' ? operands.slice(1) : operands
  const asksVersion = !asksHelp && own.includes('--version')
  if (asksVersion || asksHelp || own.length === 0) {
    const filter = await filterIn(own, host)
    const invalid = await filter?.check()
    if (invalid !== undefined) return report(invalid, shown)
    const output = filter === undefined ? shown : new Output(host, { ...shown.options, filter })
    if (asksVersion) await showVersion(output, host.version())
    const wasShown = asksVersion || (await (await import('./show-help.js')).showHelp(names, output))
    if (output.trouble !== undefined) return report(output.trouble, shown)
    if (wasShown) return 0
  }
  const { execute } = await import('./execute.js')
  const entry = findEntry(names[0])
  // Help of something that is not there: the parser knows what was meant, a topic too.
  const unknown = entry === undefined && operands[0] === 'help' ? operands : names
  return execute(asksHelp ? unknown : argv, entry, host, asked)
}

async function showVersion(output: Output, version: string): Promise<void> {
  if (output.options.format === 'table') output.say(version)
  else await output.print({ version })
}

/** Help and version are documents as well, where JSON is asked for. */
async function filterIn(argv: readonly string[], host: Host): Promise<JqFilter | undefined> {
  const expression = flagIn(argv, 'jq')
  if (expression === undefined || !knownFormat(formatIn(argv, host)).startsWith('json')) return undefined
  const { JqFilter } = await import('./jq.js')
  return new JqFilter(expression, host.signal)
}

async function report(failure: Failure, output: Output): Promise<number> {
  await output.fail(failure)
  return exitOf(failure)
}

/** What flags or the environment name, before the flags were read. */
function formatIn(argv: readonly string[], { env }: Host): string | undefined {
  if (argv.includes('--json')) return 'json'
  const output = flagIn(argv, 'output', 'o')
  return output ?? (flagIn(argv, 'jq') !== undefined ? 'json' : env.VOUCHERCTL_OUTPUT || undefined)
}
