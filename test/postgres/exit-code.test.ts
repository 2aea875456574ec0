import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { build } from 'esbuild'
import { expect, it, onTestFinished } from 'vitest'

const support = join(import.meta.dirname, '..', 'support')

const ENTRY = `
import { startPostgres } from './postgres-server.js'
const server = await startPostgres()
await server.remove()
process.exitCode = 3
`

// Else whatever runs tests or campaigns on PostgreSQL would end with 0, failed or not.
it('a process that used a PostgreSQL of its own ends with the exit code that it set', async () => {
  const outfile = join(support, '..', '..', 'node_modules', '.cache', 'voucherctl-test', `exit-${process.pid}.mjs`)
  onTestFinished(() => rmSync(outfile, { force: true }))
  await build({
    stdin: { contents: ENTRY, resolveDir: support, loader: 'ts' },
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    logLevel: 'error',
  })
  const child = spawn(process.execPath, [outfile], { stdio: 'ignore' })
  expect(await new Promise((resolve) => child.once('exit', resolve))).toBe(3)
}, 60_000)
