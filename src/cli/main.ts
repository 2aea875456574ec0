import { codeOf } from '../files/error-code.js'
import { leavesOfEntries } from './command/tree.js'
import { CommandLine } from './command-line.js'
import { fail } from './failures/failure.js'
import { readFlags } from './flags/flags.js'
import { readGlobals } from './flags/globals.js'
import type { Host, Out } from './host/host.js'
import { processStdout } from './output/output.js'
import { agentVariables, entries } from './program.js'
import { run } from './run.js'

// Exported for tests, which run the bundled CLI with their own host and parse the commands that it suggests, and for the
// build, which stores the help of each command.
export { agentVariables, CommandLine, entries, leavesOfEntries, readFlags, readGlobals, run }

/** Exit codes by signal. A terminal sends SIGHUP when it closes; a command then cleans up as after Ctrl-C. */
const exitOfSignal = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const

/** Runs voucherctl in this process and sets the exit code; the process ends when all output is written. */
export async function main(version: () => string, document: (path: string) => string): Promise<void> {
  const interruption = new AbortController()
  let interrupted: number | undefined
  const intended = new Set<number | undefined>()
  let isPaging = false
  for (const [signal, exit] of Object.entries(exitOfSignal)) {
    process.on(signal, () => {
      // Ctrl-C goes to the pager too, which decides what it means.
      if (isPaging && signal === 'SIGINT') return
      // The first signal interrupts the command; a second one ends the process without cleanup, unless it is the one that
      // stops a server: `timeout` sends it twice.
      if (interrupted !== undefined && !intended.has(exit)) process.exit(exit)
      interrupted ??= exit
      interruption.abort()
    })
  }
  const stdout = processStdout()
  const host: Host = {
    // Getters, because opening each standard stream takes a millisecond or more.
    get stdin() {
      return process.stdin
    },
    stdout,
    get stderr() {
      return openStderr()
    },
    env: process.env,
    cwd: workingFolder(),
    // With HOME set, save the 0.2 ms of loading node:os.
    homeDir:
      process.env.HOME || (await import('node:os').then((os) => os.homedir() || os.userInfo().homedir).catch(() => '')),
    now: Date.now,
    zone: (ms) => -Math.round(new Date(ms).getTimezoneOffset()),
    // Loaded on demand: node:crypto takes a tenth of a start.
    newId: () => process.getBuiltinModule('node:crypto').randomUUID(),
    version,
    document,
    signal: interruption.signal,
    endsWith: (...signals) => signals.forEach((it) => intended.add(exitOfSignal[it])),
    self: [process.execPath, process.argv[1] ?? ''],
    questions: async () => (await import('./prompts/questions.js')).terminalQuestions(interruption.signal),
    async page(text) {
      const { showInPager } = await import('./host/pager.js')
      isPaging = true
      // It stays true after a pager: a Ctrl-C that ended the pager may arrive here only now.
      isPaging = await showInPager(text, process.env)
      return isPaging
    },
  }
  if (process.argv[2] === '__complete') {
    const { candidates } = await import('./completion/candidates.js')
    stdout.write(await candidates(process.argv.slice(3), host))
    await stdout.settled()
    // A pending DNS lookup would keep the process alive.
    process.exit(0)
  }
  // Exit 1 if the event loop drains before the command finishes.
  process.exitCode = 1
  const ran = await run(process.argv.slice(2), host)
  // Node reports a failed write in a later turn of the event loop.
  await stdout.settled()
  const ofSignal = intended.has(interrupted) ? undefined : interrupted
  const exit =
    ofSignal ?? (ran === 0 && stdout.gone.aborted ? await exitAfterLostOutput(stdout.gone.reason, host.stderr) : ran)
  // Do not wait for open streams and connections; without a teardown of the heap the process ends 1 ms earlier.
  if (stderr === undefined) process.exit(exit)
  stderr.write('', () => process.exit(exit))
}

/** Exit code after a write to stdout failed: 0 for a closed pipe, as in `voucherctl … | head -1`, else an error. */
async function exitAfterLostOutput(error: unknown, stderr: Out): Promise<number> {
  const code = codeOf(error)
  if (code === 'EPIPE') return 0
  const failure = fail('FILE_UNWRITABLE', `The result cannot be written to standard output (${code}).`)
  stderr.write(`error: ${failure.message} (${failure.code})\n`)
  return (await import('./failures/codes.js')).exitOf(failure)
}

let stderr: typeof process.stderr | undefined

/** Opens stderr and ignores EPIPE there: the exit code still reports the result. */
function openStderr() {
  stderr ??= process.stderr.on('error', () => {})
  return stderr
}

/** Path of the working folder; `/` if the folder was deleted, because commands that read no file still run. */
function workingFolder(): string {
  try {
    return process.cwd()
  } catch {
    return '/'
  }
}
