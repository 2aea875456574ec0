import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import type { Readable } from 'node:stream'
import { ChildBundle } from './child-bundle.js'
import { type Send, sendTo } from './server-client.js'

const ENTRY = `
import { startServer } from './src/server/listen.js'
const [dataDir, logLevel, loopbackPort, databaseUrl] = process.argv.slice(2)
const webhookLoopbackPorts = loopbackPort === '0' ? [] : [Number(loopbackPort)]
const where = databaseUrl === undefined ? { testClock: true } : { databaseUrl }
const options = { port: 0, dataDir, logLevel, rateLimits: 'off', webhookLoopbackPorts, ...where }
const server = await startServer(options)
process.once('SIGTERM', () => server.close())
process.stdout.write(JSON.stringify(server) + '\\n')
`

const bundle = new ChildBundle('server', ENTRY)

/** Builds what the children run, once; answers how to remove it. */
export const buildServerChild = (): Promise<() => void> => bundle.build()

export interface ServerChild {
  readonly send: Send
  readonly operatorKey: string
  /** Everything that it wrote to stdout and stderr so far. */
  output(): string
  /** SIGKILL; answers when the process is gone. */
  kill(): Promise<void>
  /** SIGTERM; answers with the exit code, null when it took a SIGKILL after `msMax`. */
  stop(msMax: number): Promise<number | null>
  readonly pid: number
  readonly port: number
  readonly stderr: Readable
}

/**
 * The server as a process of its own, ready to answer. Told not to, nobody reads its stderr.
 * @param loopbackPort of a receiver on this machine that webhooks may name
 * @param databaseUrl of PostgreSQL; the folder holds keys alone then
 */
export async function startServerChild(
  dataDir: string,
  logLevel = 'silent',
  readsStderr = true,
  loopbackPort = 0,
  databaseUrl?: string,
): Promise<ServerChild> {
  const database = databaseUrl === undefined ? [] : [databaseUrl]
  const child: ChildProcess = spawn(
    process.execPath,
    [bundle.path, dataDir, logLevel, String(loopbackPort), ...database],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  let output = ''
  const gone = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)))
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
    child.once('exit', () => reject(new Error(`the server ended before it was ready: ${output}`)))
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
