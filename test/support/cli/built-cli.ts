import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

export interface Finished {
  readonly exit: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** Ignores EPIPE on stdin: a command may end before the test has written its input. */
function ignoreClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE' && error.code !== 'ECONNRESET') throw error
}

function run(program: string, args: readonly string[], where: { cwd: string; env: NodeJS.ProcessEnv }) {
  return new Promise<Finished>((resolve) => {
    const child = execFile(program, args, { ...where, maxBuffer: 16 * 1024 * 1024 }, (_error, stdout, stderr) => {
      resolve({ exit: child.exitCode, signal: child.signalCode, stdout, stderr })
    })
    child.stdin?.on('error', ignoreClosedPipe).end()
  })
}

const shipped = fileURLToPath(new URL('../../../dist/cli/main.cjs', import.meta.url))

/** The built command line, loaded into the test process; with a planted deviation its sources, which take longer. */
export const bundle: typeof import('../../../src/cli/main.js') =
  process.env.VOUCHERCTL_DEVIATION === undefined
    ? createRequire(import.meta.url)(shipped)
    : await import('../../../src/cli/main.js')

/** Runs the built command line as a separate process; support/build/setup.ts has built it. */
export const built = {
  bin: fileURLToPath(new URL('../../../bin/voucherctl.js', import.meta.url)),

  environment(home: string, env: Record<string, string> = {}): NodeJS.ProcessEnv {
    return { PATH: process.env.PATH, HOME: home, TZ: 'UTC', ...env }
  },

  run(args: readonly string[], home: string, env?: Record<string, string>): Promise<Finished> {
    return run(process.execPath, [built.bin, ...args], { cwd: home, env: built.environment(home, env) })
  },

  start(args: readonly string[], home: string, env?: Record<string, string>) {
    const options = { cwd: home, env: built.environment(home, env) }
    const child = spawn(process.execPath, [built.bin, ...args], options)
    child.stdin.on('error', ignoreClosedPipe)
    return child
  },

  /** Runs a shell script in which "$0" "$1" is the command line. */
  inShell: (script: string, home: string): Promise<Finished> =>
    run('sh', ['-c', script, process.execPath, built.bin], { cwd: home, env: built.environment(home) }),
} as const

/** Resolves with the first line that a process prints on stdout. */
export async function firstLine(child: ChildProcess): Promise<string> {
  let text = ''
  // Destroying stdout here would make later writes of the process fail.
  for await (const chunk of child.stdout?.iterator({ destroyOnReturn: false }) ?? []) {
    text += String(chunk)
    if (text.includes('\n')) return text.slice(0, text.indexOf('\n'))
  }
  throw new Error(`The process ended after printing ${JSON.stringify(text)}, without a line.`)
}
