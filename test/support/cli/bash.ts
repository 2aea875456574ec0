import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import { listen } from '../listen.js'
import { built } from './built-cli.js'
import { secrets, temporaryDir } from './cli.js'
import { template } from './samples.js'

const LIMIT = 100

/** Starts a server with a list of `pages` pages; each page has 100 templates of 4 KiB. */
export async function manyTemplates(pages: number) {
  const items = Array.from({ length: LIMIT }, () => ({ ...template, description: 'd'.repeat(4_096) }))
  const text = JSON.stringify(items)
  let requestCount = 0
  const server = createServer((request, response) => {
    requestCount += 1
    const at = Number(new URL(request.url ?? '', 'http://x').searchParams.get('page'))
    const pagination = JSON.stringify({ page: at, limit: LIMIT, total: pages * LIMIT, pages })
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(`{"success":true,"data":{"items":${text},"pagination":${pagination}},"requestId":"r"}`)
  })
  return { baseUrl: `http://127.0.0.1:${await listen(server)}`, requestCount: () => requestCount }
}

interface Shell {
  readonly exit: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs a line of bash in which the function `cli` runs the built command line. */
export function bash(line: string, env: Record<string, string> = {}): Promise<Shell> {
  const home = temporaryDir()
  const options = {
    cwd: home,
    env: built.environment(home, { ...secrets, ...env, cli: built.bin, node: process.execPath }),
  }
  return new Promise((resolve) => {
    const script = `cli() { exec "$node" "$cli" "$@"; }; ${line}`
    const child = execFile('bash', ['-c', script], options, (_error, stdout, stderr) =>
      resolve({ exit: child.exitCode, stdout, stderr }),
    )
    // stdin stays open, as for a background job, so a command that waits for input would never end.
  })
}
