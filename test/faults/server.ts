import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import process from 'node:process'
import { type Send, sendTo } from '../support/server/client.js'
import type { Place } from '../support/server/tenant.js'

export { tenantAt } from '../support/server/tenant.js'

const READY_MS_MAX = 60_000
const STDERR_KEPT = 20_000
const FALLEN_SHOWN = 2_000

const running = new Set<ChildProcess>()
const fallen: string[] = []

/** Kills the servers that an aborted campaign did not stop. */
export async function killServers(): Promise<void> {
  const gone = [...running].map((child) => once(child, 'close'))
  for (const child of running) child.kill('SIGKILL')
  await Promise.all(gone)
}

/** Returns descriptions of the servers that crashed since the last call of this function. */
export function fallenServers(): string[] {
  return fallen.splice(0)
}

/** Thrown if a server exits before its ready line. */
export class Refused extends Error {
  override readonly name = 'Refused'
  constructor(
    readonly exit: number | null,
    readonly stderr: string,
  ) {
    super(`the server did not start (exit ${exit}): ${stderr}`)
  }
}

export interface Server extends Place {
  readonly baseUrl: string
  readonly port: number
  readonly pid: number
  /** Milliseconds from the start of the process to its ready line. */
  readonly readyMs: number
  /** The last part of the stderr of the process. */
  stderr(): string
  /** How the process ended; null while it runs. */
  exit(): { readonly code: number | null; readonly signal: NodeJS.Signals | null } | null
  /** Sends SIGKILL; resolves when the process has exited. */
  kill(): Promise<void>
  /** Sends SIGTERM, and SIGKILL after 20 s; resolves to the exit code, or null after SIGKILL. */
  stop(): Promise<number | null>
  /** Opens its own keep-alive connection to the server. */
  line(): { readonly send: Send; close(): void }
}

/**
 * Runs `voucherctl server start` of the built package as a process, on a free port.
 * @param env environment variables in addition to PATH and HOME
 * @throws Refused
 */
export async function startServer(
  root: string,
  dataDir: string,
  flags = ['--rate-limit', 'off'],
  env: Readonly<Record<string, string>> = {},
): Promise<Server> {
  const startedAt = performance.now()
  const args = ['server', 'start', '--port', '0', '--json', '--data', dataDir, '--log-level', 'warn', ...flags]
  const child = spawn(process.execPath, [join(root, 'bin', 'voucherctl.js'), ...args], {
    env: { PATH: process.env.PATH, HOME: dataDir, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  let stderr = ''
  let stdout = ''
  let isReady = false
  let exit: { code: number | null; signal: NodeJS.Signals | null } | null = null
  const gone = new Promise<void>((resolve) => {
    child.once('close', (code, signal) => {
      running.delete(child)
      exit = { code, signal }
      if (isReady && !child.killed)
        fallen.push(`a server ended by itself (exit ${code}, ${signal}): ${stderr.slice(-FALLEN_SHOWN)}`)
      resolve()
    })
  })
  child.stderr.on('data', (chunk: Buffer) => {
    stderr = `${stderr}${chunk}`.slice(-STDERR_KEPT)
  })
  const overdue = setTimeout(() => child.kill('SIGKILL'), READY_MS_MAX)
  const { base_url: baseUrl, operator_key_file: operatorKeyFile } = await new Promise<{
    base_url: string
    operator_key_file: string
  }>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk
      if (stdout.includes('\n')) resolve(JSON.parse(stdout))
    })
    gone.then(() => reject(new Refused(exit?.code ?? null, stderr))).catch(reject)
  }).finally(() => clearTimeout(overdue))
  isReady = true
  const readyMs = performance.now() - startedAt

  const agents: http.Agent[] = []
  const agentOf = (maxSockets: number) => {
    const agent = new http.Agent({ keepAlive: true, maxSockets })
    agents.push(agent)
    return agent
  }
  const end = async () => {
    await gone
    for (const agent of agents) agent.destroy()
  }
  return {
    baseUrl,
    port: Number(new URL(baseUrl).port),
    pid: child.pid as number,
    readyMs,
    operatorKey: readFileSync(operatorKeyFile, 'utf8').trim(),
    send: sendTo(baseUrl, agentOf(128)),
    line() {
      const agent = agentOf(1)
      return { send: sendTo(baseUrl, agent), close: () => agent.destroy() }
    },
    stderr: () => stderr,
    exit: () => exit,
    async kill() {
      child.kill('SIGKILL')
      await end()
    },
    async stop() {
      child.kill('SIGTERM')
      const late = setTimeout(() => child.kill('SIGKILL'), 20_000)
      await end()
      clearTimeout(late)
      return exit?.code ?? null
    },
  }
}

/** Resident memory of a process in MiB; null on systems without /proc. */
export function memoryOf(pid: number): number | null {
  const path = `/proc/${pid}/status`
  if (!existsSync(path)) return null
  const [, kib] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(path, 'utf8')) ?? []
  return kib === undefined ? null : Math.round(Number(kib) / 1024)
}
