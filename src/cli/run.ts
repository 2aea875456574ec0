import { fail } from './failure.js'
import { knownFormat } from './globals.js'
import type { Host } from './host.js'
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
  if (!asksHelp && own.includes('--version')) return showVersion(shown, host.version())
  const names = operands[0] === 'help' ? operands.slice(1) : operands
  if (asksHelp || own.length === 0) {
    const { showHelp } = await import('./show-help.js')
    if (await showHelp(names, shown)) return 0
  }
  const { execute } = await import('./execute.js')
  const entry = findEntry(names[0])
  // Help of something that is not there: the parser knows what was meant, a topic too.
  const unknown = entry === undefined && operands[0] === 'help' ? operands : names
  return execute(asksHelp ? unknown : argv, entry, host, asked)
}

async function showVersion(output: Output, version: string): Promise<number> {
  if (output.options.format === 'table') output.say(version)
  else await output.print({ version })
  return 0
}

/** What flags or the environment name, before the flags were read. */
function formatIn(argv: readonly string[], { env }: Host): string | undefined {
  if (argv.includes('--json')) return 'json'
  const output = flagIn(argv, 'output', 'o')
  return output ?? (flagIn(argv, 'jq') !== undefined ? 'json' : env.VOUCHERCTL_OUTPUT || undefined)
}
