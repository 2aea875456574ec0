import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'rolldown'
import { expect, test } from 'vitest'

const run = promisify(execFile)
const dist = fileURLToPath(new URL('../../dist/', import.meta.url))
const { NODE_TEST_CONTEXT: _, ...env } = process.env

test.each(["receive('ping'", "requests.wait({ endpoint: 'a' }"])(
  'a process ends although %s is pending for a day',
  async (call) => {
    const program = `require(${JSON.stringify(join(dist, 'testing/index.cjs'))}).startServer().then((server) => {
      server.${call}, { within: 86_400_000 }).catch(() => {})
    })`
    expect(await run(process.execPath, ['-e', program], { env })).toEqual({ stdout: '', stderr: '' })
  },
)

test('libraries that a bundler turned into ESM sign, call, encrypt and serve', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'voucherctl-esm-'))
  const input = join(folder, 'input.mjs')
  const load = (library: string) => JSON.stringify(join(dist, library, 'index.js'))
  writeFileSync(
    input,
    `import { createClient, createPoolTransport } from ${load('client')}
import { createSecureSession } from ${load('secure')}
import { startServer } from ${load('testing')}
import { signWebhook, verifyWebhook } from ${load('webhook')}
const rawBody = '{"update_id":7}'
const secrets = ['s']
const headers = signWebhook({ rawBody, secrets, timestamp: Math.floor(Date.now() / 1000), updateId: 7 })
const results = [verifyWebhook({ headers, rawBody, secrets }).ok, typeof createSecureSession]
const pool = await createPoolTransport('http://127.0.0.1:1')
await pool.close()
try {
  const server = await startServer()
  const client = createClient({ baseUrl: server.baseUrl, token: server.token, secure: { mode: 'required' } })
  results.push((await client.templates.list()).ok)
  await server.close()
} catch (error) {
  results.push(error.code)
}
process.stdout.write(JSON.stringify(results))
`,
  )
  // Inside the repository, so that Node 20 finds its SQLite.
  const file = join(dist, '..', 'node_modules', '.esm-test.mjs')
  await build({ input, platform: 'node', output: { file, format: 'esm', codeSplitting: false }, logLevel: 'silent' })
  try {
    expect(await run(process.execPath, [file])).toEqual({ stdout: '[true,"function",true]', stderr: '' })
  } finally {
    await rm(file)
    await rm(folder, { recursive: true })
  }
})
