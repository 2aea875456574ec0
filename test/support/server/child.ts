import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { type Send, sendTo } from './client.js'

const program = fileURLToPath(new URL('program.cjs', import.meta.url))

export interface ServerChild {
  readonly send: Send
  readonly operatorKey: string
  /** Returns what the server has printed on stdout and stderr so far. */
  output(): string
  /** Sends SIGKILL; resolves when the process has ended. */
  kill(): Promise<void>
  /** Sends SIGTERM, and SIGKILL after `msMax` ms; resolves with the exit code, null for SIGKILL. */
  stop(msMax: number): Promise<number | null>
  readonly pid: number
  readonly port: number
  readonly stderr: Readable
}

/**
 * Starts the built server as a separate process and waits until it is ready.
 * @param readsStderr false leaves the stderr of the server unread
 * @param loopbackPort port of 127.0.0.1 to which the server may send webhooks
 * @param databaseUrl PostgreSQL database; with it, `dataDir` holds only keys
 */
export async function startServerChild(
  dataDir: string,
  logLevel = 'silent',
  readsStderr = true,
  loopbackPort = 0,
  databaseUrl?: string,
): Promise<ServerChild> {
  const database = databaseUrl === undefined ? [] : [databaseUrl]
  const args = [program, dataDir, logLevel, String(loopbackPort), ...database]
  const child: ChildProcess = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  // The output is complete at 'close'; an unread stderr would keep that event from coming.
  const end = readsStderr ? 'close' : 'exit'
  const gone = new Promise<number | null>((resolve) => child.once(end, (code) => resolve(code)))
  const ready = new Promise<{ baseUrl: string; operatorKeyFile: string }>((resolve, reject) => {
    if (readsStderr) {
      child.stderr?.on('data', (chunk: Buffer) => {
        output += chunk.toString('utf8')
      })
    }
    let line = ''
    child.stdout?.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8')
      line += chunk.toString('utf8')
      if (line.includes('\n')) resolve(JSON.parse(line) as { baseUrl: string; operatorKeyFile: string })
    })
    child.once(end, () => reject(new Error(`the server ended before it was ready: ${output}`)))
  })
  const { baseUrl, operatorKeyFile } = await ready
  const agent = new http.Agent({ keepAlive: true, maxSockets: 32 })
  return {
    send: sendTo(baseUrl, agent),
    operatorKey: readFileSync(operatorKeyFile, 'utf8').trim(),
    output: () => output,
    kill: async () => {
      child.kill('SIGKILL')
      await gone
      agent.destroy()
    },
    stop: async (msMax) => {
      child.kill('SIGTERM')
      const overdue = setTimeout(() => child.kill('SIGKILL'), msMax)
      const code = await gone
      clearTimeout(overdue)
      agent.destroy()
      return code
    },
    pid: child.pid as number,
    port: Number(new URL(baseUrl).port),
    stderr: child.stderr as Readable,
  }
}
