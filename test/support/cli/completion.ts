import { candidates } from '../../../src/cli/completion/candidates.js'
import type { Host } from '../../../src/cli/host/host.js'
import { temporaryDir } from './cli.js'

export interface Given {
  readonly env?: Record<string, string>
  readonly home?: string
  /** ms since 1970 */
  readonly now?: number
}

/** A fake host that throws if completion prompts, reads stdin or writes to stderr. */
function hostIn(home: string, env: Record<string, string>, now: number): Host {
  const forbidden = (what: string) => () => {
    throw new Error(`completion ${what}`)
  }
  const out = { write: forbidden('writes'), isTTY: true }
  return {
    stdin: { isTTY: true, [Symbol.asyncIterator]: forbidden('reads stdin') },
    stdout: out,
    stderr: out,
    env,
    cwd: home,
    homeDir: home,
    now: () => now,
    zone: () => 0,
    newId: () => 'id',
    version: () => '9.9.9',
    document: forbidden('reads documents'),
    signal: new AbortController().signal,
    self: [process.execPath, 'bin/voucherctl.js'],
    questions: forbidden('asks'),
  }
}

/** Returns what voucherctl prints when a completion script of a shell calls it with these arguments. */
export const ask = (args: readonly string[], { env = {}, home = temporaryDir(), now = 0 }: Given = {}) =>
  candidates(args, hostIn(home, { ...patient, ...env }, now))

/** A long completion timeout, because the default of 250 ms is too short on a busy machine. */
export const patient = { VOUCHERCTL_COMPLETION_TIMEOUT: '20s' }

export interface Completed {
  readonly kind: string
  readonly values: readonly string[]
  readonly summaries: readonly string[]
}

/** Completes a command line (without the program name) whose words are separated by spaces only. */
export async function complete(line: string, given: Given = {}): Promise<Completed> {
  const [kind = '', ...lines] = (await ask(['bash', `voucherctl ${line}`, ' '], given)).trimEnd().split('\n')
  const words = lines.map((it) => it.split('\t'))
  return { kind, values: words.map(([value = '']) => value), summaries: words.map(([, summary = '']) => summary) }
}
