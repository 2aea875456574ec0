import { homedir } from 'node:os'
import { codeOf } from '../files/error-code.js'
import { exitOf, fail } from './failure.js'
import type { Host, Out } from './host/host.js'
import { processStdout } from './output/output.js'
import { run } from './run.js'

// Exported for tests, which run the bundled command line with their own host.
export { run }

/** SIGHUP is a terminal that was closed; what a command has made for itself is removed all the same. */
const exitOfSignal = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const

/** The command line of this process. The exit code is set, and the process ends when everything is written. */
export async function main(version: () => string): Promise<void> {
  const interruption = new AbortController()
  let interrupted: number | undefined
  for (const [signal, exit] of Object.entries(exitOfSignal)) {
    process.on(signal, () => {
      // The first asks the command to end, a second one does not wait for it.
      if (interrupted !== undefined) process.exit(exit)
      interrupted = exit
      interruption.abort()
    })
  }
  const stdout = processStdout()
  const host: Host = {
    // Opened when they are used: each costs a command that does not use it a millisecond or more.
    get stdin() {
      return process.stdin
    },
    stdout,
    get stderr() {
      return openStderr()
    },
    env: process.env,
    cwd: workingFolder(),
    homeDir: process.env.HOME || homedir(),
    now: Date.now,
    newId: () => crypto.randomUUID(),
    version,
    signal: interruption.signal,
    self: [process.execPath, process.argv[1] ?? ''],
    questions: async () => (await import('./host/questions.js')).terminalQuestions(interruption.signal),
  }
  if (process.argv[2] === '__complete') {
    const { candidates } = await import('./completion/candidates.js')
    stdout.write(await candidates(process.argv.slice(3), host, () => performance.now()))
    await stdout.settled?.()
    // A look-up of a name that still waits would keep the process.
    process.exit(0)
  }
  // For a process that ends because nothing is left that could answer what a command waits for.
  process.exitCode = 1
  const ran = await run(process.argv.slice(2), host)
  // A write that fails says so in a later turn.
  await new Promise((resolve) => setImmediate(resolve))
  const exit = interrupted ?? (ran === 0 && stdout.gone.aborted ? lost(stdout.gone.reason, host.stderr) : ran)
  process.exitCode = exit
  // A stream or standard input that nobody reads any more would keep the process.
  if (interrupted !== undefined || stdout.gone.aborted) openStderr().write('', () => process.exit(exit))
}

/** A reader that has seen enough is no error, as in `voucherctl … | head -1`; a disk that is full is one. */
function lost(error: unknown, stderr: Out): number {
  const code = codeOf(error)
  if (code === 'EPIPE') return 0
  const failure = fail('FILE_UNWRITABLE', `The result cannot be written to standard output (${code}).`)
  stderr.write(`error: ${failure.message}\n`)
  return exitOf(failure)
}

let stderr: typeof process.stderr | undefined

/** Whoever does not read the errors still reads the exit code. */
function openStderr() {
  stderr ??= process.stderr.on('error', () => {})
  return stderr
}

/** The root when the folder of this process was deleted: no project file is found from there, and nothing else fails. */
function workingFolder(): string {
  try {
    return process.cwd()
  } catch {
    return '/'
  }
}
