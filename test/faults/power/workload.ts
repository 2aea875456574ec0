import { createRequire } from 'node:module'
import { join } from 'node:path'
import process from 'node:process'

/** Folders of a recording. */
export interface Place {
  /** Root of the checkout. */
  readonly root: string
  /** Folder whose changes are recorded. */
  readonly disk: string
  /** Folder for files that survive: inputs, and what the recording process tells the campaign. */
  readonly notes: string
}

export interface Recorder extends Place {
  /** Records that a user got a result: a later power failure must not undo it. `what` is JSON. */
  acknowledge(what: object): void
}

export interface Checker {
  /**
   * Continues with the files that a power failure left.
   * @param acknowledged the results that users got before it, in their order
   * @returns lost calls, or calls refused without need
   */
  check(state: string, acknowledged: readonly object[]): Promise<string[]>
  close?(): Promise<void>
}

export interface NeededSync {
  /** The file of src/ that calls fsync, or SQLite. */
  readonly call: string
  readonly what: string
  /** Matches the path of the synced file or folder below `disk`. */
  readonly path: RegExp
}

/** Programs that change files, and the check of what a power failure leaves of these. */
export interface Workload {
  readonly name: string
  /** Runs in the campaign, before the recording. */
  open(place: Place): Promise<Checker>
  /** Runs in the traced process. */
  record(recorder: Recorder): Promise<void>
  /** The fsyncs without which the check must find a loss. */
  readonly syncs: readonly NeededSync[]
}

export interface Ran {
  readonly exit: number
  readonly stdout: string
  readonly stderr: string
}

interface CommandOptions {
  readonly home: string
  readonly env?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

export type RunCommand = (args: readonly string[], options: CommandOptions) => Promise<Ran>

/** Loads the built command line, so that commands run in this process. */
export function loadCommands(root: string): RunCommand {
  const main = join(root, 'dist', 'cli', 'main.cjs')
  const { run } = createRequire(main)(main) as typeof import('../../../src/cli/main.js')
  return async (args, { home, env = {}, signal = new AbortController().signal }) => {
    const written = { stdout: '', stderr: '' }
    const out = (name: keyof typeof written) => ({
      write: (text: string | Uint8Array) => void (written[name] += Buffer.from(text).toString()),
    })
    const unasked = () => Promise.reject(new Error('a prompt needs a terminal'))
    const exit = await run([...args], {
      stdin: {
        async *[Symbol.asyncIterator]() {
          yield ''
        },
      },
      stdout: out('stdout'),
      stderr: out('stderr'),
      env,
      cwd: home,
      homeDir: home,
      now: Date.now,
      zone: () => 0,
      newId: () => crypto.randomUUID(),
      version: () => '0.0.0',
      document: () => '',
      signal,
      self: [process.execPath, join(root, 'bin', 'voucherctl.js')],
      questions: unasked,
    })
    return { exit, ...written }
  }
}

/** Runs a command that must succeed. */
export async function mustRun(run: RunCommand, args: readonly string[], options: CommandOptions): Promise<string> {
  const { exit, stdout, stderr } = await run(args, options)
  if (exit !== 0) throw new Error(`voucherctl ${args.join(' ')} ended with ${exit}: ${stderr}`)
  return stdout
}
