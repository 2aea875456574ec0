import type { ChildProcess } from 'node:child_process'
import { createECDH } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { describe, expect, it } from 'vitest'
import { paths } from '../../../../src/secure/index.js'
import { built } from '../../../support/cli/built-cli.js'
import { cli, temporaryDir } from '../../../support/cli/cli.js'

/** Runs the built server while `use` runs; resolves with the warnings that the server logged. */
async function withServer(flags: readonly string[], use: (baseUrl: string) => Promise<void>): Promise<string[]> {
  const start = ['server', 'start', '--memory', '--port', '0', '--json', ...flags]
  const child: ChildProcess = built.start(start, temporaryDir())
  let log = ''
  child.stderr?.on('data', (chunk) => (log += chunk))
  const [line] = await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line')
  try {
    await use(JSON.parse(line).base_url)
  } finally {
    child.kill('SIGTERM')
    await once(child, 'close')
  }
  const lines = log.trim().split('\n')
  return lines.map((it) => JSON.parse(it)).flatMap(({ level, msg }) => (level === 40 ? [msg] : []))
}

async function openSession(baseUrl: string, forwardedFor: string): Promise<number> {
  const client = createECDH('prime256v1')
  const clientPublicKey = client.generateKeys().toString('base64url')
  const response = await fetch(`${baseUrl}${paths.session}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': forwardedFor },
    body: JSON.stringify({ clientPublicKey }),
  })
  await response.arrayBuffer()
  return response.status
}

describe('server start --trusted-proxy', () => {
  it('server start --trusted-proxy limits the rate of each client behind that proxy separately', async () => {
    const warnings = await withServer(['--trusted-proxy', '127.0.0.1', '--trusted-proxy=::1'], async (baseUrl) => {
      const statuses = []
      for (let n = 0; n < 31; n++) statuses.push(await openSession(baseUrl, `198.51.100.${n}, 203.0.113.66`))
      expect(statuses).toEqual([...Array.from({ length: 30 }, () => 200), 429])
      expect(await openSession(baseUrl, '198.51.100.7')).toBe(200)
    })
    expect(warnings).toEqual([])
  })

  it('the server logs one warning about --trusted-proxy for requests of an untrusted proxy', async () => {
    const warnings = await withServer([], async (baseUrl) => {
      for (let n = 0; n < 3; n++) await openSession(baseUrl, '203.0.113.66')
    })
    expect(warnings).toEqual([expect.stringContaining('start the server with --trusted-proxy 127.0.0.1')])
  })

  it.each(['proxy.example', '10.0.0.0/33', '10.0.0.0/8/8', '10.0.0.0/', 'fe80::1%eth0', ''])(
    'server start --trusted-proxy %j exits 2',
    async (value) => {
      const { exit, stderr } = await cli(['server', 'start', '--memory', `--trusted-proxy=${value}`])
      expect([exit, stderr]).toEqual([2, expect.stringContaining('--trusted-proxy')])
    },
  )
})
