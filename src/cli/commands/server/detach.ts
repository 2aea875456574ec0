import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { codeOf } from '../../../files/error-code.js'
import { type Members, parseObject } from '../../../values/json.js'
import { findLocalServer, identify, type LocalServer } from '../../config/local-server.js'
import { type Failure, fail, suggested } from '../../failures/failure.js'
import type { Host } from '../../host/host.js'
import { withoutSecrets } from '../../host/secrets.js'
import { keepLog, LOG_FILE } from './log-rotation.js'
import { argumentsOf, type StartFlags } from './start-flags.js'

/** The line that a server prints when it accepts connections. */
export interface ReadyLine
  extends Pick<LocalServer, 'base_url' | 'pid' | 'data_dir' | 'operator_key_file' | 'store' | 'database'> {
  /** Whether this start wrote the seed or found it in the store; absent without a seed. */
  readonly seed?: 'planted' | 'present'
  /** Such as `31 days ahead`; absent if no test clock was moved. */
  readonly test_clock?: string
}

type DetachedServer = ReadyLine & { readonly log_file: string }

/**
 * Runs the same command line in a background process and returns when its server accepts connections.
 * @param seed text of the seed, which the process reads from standard input
 */
export async function startDetached(
  host: Host,
  flags: StartFlags,
  dir: string,
  seed?: string,
): Promise<{ ok: true; data: DetachedServer } | Failure> {
  const running = flags.memory ? undefined : findLocalServer(dir)
  if (running !== undefined && (await identify(running)) === 'same') {
    return fail(
      'DATA_FOLDER_IN_USE',
      `A server already runs in ${dir}: ${running.base_url} (process ${running.pid}).`,
      `Use it, stop it with ${suggested`server stop --data ${dir}`}, or choose another folder with --data.`,
    )
  }
  const logFile = flags.memory ? join(tmpdir(), `voucherctl-server-${host.newId()}.log`) : join(dir, 'server.log')
  let log: number
  try {
    keepLog(logFile)
    log = openSync(logFile, 'a+', 0o600)
  } catch (error) {
    const hint = 'Choose another folder with --data.'
    return fail('FILE_UNWRITABLE', `${logFile} cannot be written (${codeOf(error)}).`, hint)
  }
  const [program, ...before] = host.self
  const repeated = argumentsOf({
    ...flags,
    detach: false,
    data: flags.memory ? undefined : dir,
    seed: seed === undefined ? undefined : '-',
  })
  const child = spawn(program, [...before, 'server', 'start', ...repeated, '--json', '--no-input'], {
    detached: true,
    stdio: [seed === undefined ? 'ignore' : 'pipe', 'pipe', log],
    env: { ...withoutSecrets(host.env), [LOG_FILE]: logFile },
    windowsHide: true,
  })
  // A process that has ended no longer reads its input; its error object explains why.
  child.stdin?.on('error', () => {}).end(seed)
  const line = await firstLine(child, host.signal)
  const ready = line === undefined ? undefined : (parseObject(line) as (Members & ReadyLine) | undefined)
  const failure = ready === undefined ? failureOf(endOf(log), logFile) : undefined
  closeSync(log)
  return failure ?? { ok: true, data: { ...(ready as Members & ReadyLine), log_file: logFile } }
}

/** Resolves to the server's ready line; undefined if the process ended without printing one. */
function firstLine(child: ChildProcess, signal: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve) => {
    let text = ''
    const settle = (line: string | undefined) => {
      signal.removeEventListener('abort', onAbort)
      child.stdout?.destroy()
      child.unref()
      resolve(line)
    }
    const onAbort = () => child.kill('SIGTERM')
    signal.addEventListener('abort', onAbort, { once: true })
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8')
      if (text.includes('\n')) settle(text.slice(0, text.indexOf('\n')))
    })
    child.once('error', () => settle(undefined))
    child.once('exit', () => settle(undefined))
  })
}

/** Bytes at the end of a log that hold the error object of a server that ended early. */
const LOG_END = 65_536

/** Reads the end of a log by its descriptor, because another start may have renamed the file. */
function endOf(log: number): string {
  const { size } = fstatSync(log)
  const bytes = Buffer.alloc(Math.min(size, LOG_END))
  // With a position, because the server moves the one that both processes share.
  return bytes.toString('utf8', 0, readSync(log, bytes, 0, bytes.length, size - bytes.length))
}

/** Builds the failure of a server that ended early from the error object in its log. */
function failureOf(log: string, logFile: string): Failure {
  const lines = log.trim().split('\n')
  const errors = lines.map((line) => parseObject(line)?.error).filter((it) => typeof it === 'object' && it !== null)
  const last = errors.at(-1) as { code?: string; message?: string; hint?: string | null } | undefined
  const base = fail(
    'SERVER_START_FAILED',
    last?.message ?? 'The server ended before it was ready.',
    last?.hint ?? `Its log is ${logFile}.`,
  )
  return { ...base, code: last?.code ?? base.code, details: { log_file: logFile } }
}
