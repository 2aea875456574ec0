import { homedir } from 'node:os'
import type { Host } from './host.js'
import { processStdout } from './output.js'
import { run } from './run.js'

const exitOfSignal = { SIGINT: 130, SIGTERM: 143 } as const

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
  // Whoever read stdout has seen enough, as in `voucherctl … | head -1`.
  const stdout = processStdout(() => process.exit())
  const host: Host = {
    // Opened when they are used: each costs a command that does not use it a millisecond or more.
    get stdin() {
      return process.stdin
    },
    stdout,
    get stderr() {
      return process.stderr
    },
    env: process.env,
    cwd: process.cwd(),
    homeDir: process.env.HOME || homedir(),
    now: Date.now,
    newId: () => crypto.randomUUID(),
    version,
    signal: interruption.signal,
    self: [process.execPath, process.argv[1] ?? ''],
    questions: async () => (await import('./questions.js')).terminalQuestions(interruption.signal),
  }
  const exit = await run(process.argv.slice(2), host)
  process.exitCode = interrupted ?? exit
}
