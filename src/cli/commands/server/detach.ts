import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { codeOf } from '../../../files/error-code.js'
import { findLocalServer } from '../../config/local-server.js'
import { identify } from '../../config/server-identity.js'
import type { Failure } from '../../failure.js'
import { fail } from '../../failure.js'
import type { Host } from '../../host/host.js'
import { parseObject } from '../../host/parse-object.js'
import { looksSecret } from '../../host/secrets.js'

interface Detached {
  readonly base_url: string
  readonly pid: number
  readonly data_dir: string
  readonly operator_key_file: string | null
  readonly store: string
  readonly log_file: string
}

type Given = Readonly<Record<string, unknown>>

/** Starts the same command line again in the background, and answers when it says that it is ready. */
export async function startDetached(
  host: Host,
  flags: Given,
  dir: string,
): Promise<{ ok: true; data: Detached } | Failure> {
  const running = flags.memory === true ? undefined : findLocalServer(dir)
  if (running !== undefined && (await identify(running)) === 'same') {
    return fail(
      'DATA_FOLDER_IN_USE',
      `A server already runs in ${dir}: ${running.base_url} (process ${running.pid}).`,
      'Use it, stop it with `voucherctl server stop`, or choose another folder with --data.',
    )
  }
  const logFile =
    flags.memory === true ? join(tmpdir(), `voucherctl-server-${host.newId()}.log`) : join(dir, 'server.log')
  let log: number
  try {
    log = openSync(logFile, 'w', 0o600)
  } catch (error) {
    return fail(
      'FILE_UNWRITABLE',
      `${logFile} cannot be written (${codeOf(error)}).`,
      'Choose another folder with --data.',
    )
  }
  const [program, ...before] = host.self
  const args = [...before, 'server', 'start', ...argumentsOf(flags, dir), '--json', '--no-input']
  const child = spawn(program, args, {
    detached: true,
    stdio: ['ignore', 'pipe', log],
    env: withoutSecrets(host.env),
    windowsHide: true,
  })
  closeSync(log)
  const line = await firstLine(child, host.signal)
  const ready = line === undefined ? undefined : parseObject(line)
  if (ready === undefined) return failureOf(logFile)
  return { ok: true, data: { ...(ready as unknown as Omit<Detached, 'log_file'>), log_file: logFile } }
}

/** A server needs no credential of its caller, and its environment can be read for as long as it runs. */
export function withoutSecrets(env: Host['env']): NodeJS.ProcessEnv {
  const isSecret = (name: string) => name.startsWith('VOUCHERCTL_') && looksSecret(name, '')
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isSecret(name)))
}

/** The flags again, as they were given; limits are the one that is not text or a number. */
function argumentsOf(flags: Given, dir: string): string[] {
  const { detach: _detach, data: _data, 'rate-limit': limits, ...rest } = flags
  const args = Object.entries(rest).flatMap(([name, value]) => {
    if (value === undefined || value === false) return []
    if (Array.isArray(value)) return value.map((it) => `--${name}=${it}`)
    return value === true ? [`--${name}`] : [`--${name}=${value}`]
  })
  const where = flags.memory === true ? [] : [`--data=${dir}`]
  return [...args, ...where, ...limitArguments(limits)]
}

function limitArguments(limits: unknown): string[] {
  if (limits === undefined) return []
  if (limits === 'off') return ['--rate-limit=off']
  const entries = Object.entries(limits as Record<string, { calls: number; seconds: number }>)
  return entries.map(([name, { calls, seconds }]) => `--rate-limit=${name}=${calls}/${seconds}`)
}

/** The ready line; undefined when the server ended without one. */
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

/** What the server said before it ended: its error object is a line of its log. */
function failureOf(logFile: string): Failure {
  const lines = readFileSync(logFile, 'utf8').trim().split('\n')
  const errors = lines.map((line) => parseObject(line)?.error).filter((it) => typeof it === 'object' && it !== null)
  const last = errors.at(-1) as { code?: string; message?: string; hint?: string | null } | undefined
  const base = fail(
    'SERVER_START_FAILED',
    last?.message ?? 'The server ended before it was ready.',
    last?.hint ?? `Its log is ${logFile}.`,
  )
  return { ...base, code: last?.code ?? base.code, details: { log_file: logFile } }
}
