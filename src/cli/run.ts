import { fail } from './failure.js'
import { formats } from './globals.js'
import type { Host } from './host.js'
import { operandsOf } from './operands.js'
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
  const operands = operandsOf(argv)
  const asksHelp = own.includes('--help') || own.includes('-h') || operands[0] === 'help'
  if (!asksHelp && own.includes('--version')) return showVersion(early, host.version())
  const names = operands[0] === 'help' ? operands.slice(1) : operands
  if (asksHelp || own.length === 0) {
    const { showHelp } = await import('./show-help.js')
    if (await showHelp(names, early)) return 0
  }
  const { execute } = await import('./execute.js')
  // Help of something that is not there: the parser knows what was meant.
  return execute(asksHelp ? names : argv, findEntry(names[0]), host, early)
}

async function showVersion(output: Output, version: string): Promise<number> {
  if (output.options.format === 'table') output.say(version)
  else await output.print({ version })
  return 0
}

/** The format of errors that come before the flags were read. */
function guessFormat(argv: readonly string[], { env }: Host) {
  const named = argv.find((it) => it.startsWith('--output='))?.slice('--output='.length)
  const joined = argv.find((it) => /^-o./.test(it))?.slice('-o'.length)
  const at = argv.findIndex((it) => it === '-o' || it === '--output')
  const found = argv.includes('--json')
    ? 'json'
    : (named ?? joined ?? (at >= 0 ? argv[at + 1] : undefined) ?? env.VOUCHERCTL_OUTPUT)
  return formats.find((it) => it === found) ?? 'table'
}
