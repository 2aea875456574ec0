import { spawn } from 'node:child_process'
import process from 'node:process'
import { expect, it, onTestFinished } from 'vitest'
import { ChildBundle } from '../support/child-bundle.js'

const bundle = new ChildBundle(
  'exit',
  `
import { startPostgres } from './test/support/postgres-server.js'
const server = await startPostgres()
await server.remove()
process.exitCode = 3
`,
)

// Else whatever runs tests or campaigns on PostgreSQL would end with 0, failed or not.
it('a process that used a PostgreSQL of its own ends with the exit code that it set', async () => {
  onTestFinished(await bundle.build())
  const child = spawn(process.execPath, [bundle.path], { stdio: 'ignore' })
  expect(await new Promise((resolve) => child.once('exit', resolve))).toBe(3)
}, 60_000)
