import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execaNode } from 'execa'
import { expect, onTestFinished, test } from 'vitest'
import { takeDatabase } from '../support/postgres/database.js'
import { temporaryFolder } from '../support/server/server.js'
import { onPostgres } from '../support/store/engine-name.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const guide = readFileSync(join(root, 'src/guides/testing.md'), 'utf8')
const blocks = [...guide.matchAll(/^```mjs\n\/\/ till\.test\.mjs\n(.*?)^```$/gms)].map(([, block = '']) => block)

test('each race of the testing guide ends as the guide says, on both engines', async () => {
  const folder = temporaryFolder()
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules', 'voucherctl'))
  writeFileSync(join(folder, 'till.test.mjs'), blocks.join(''))
  const database = onPostgres ? takeDatabase() : undefined
  onTestFinished(() => database?.release())
  const { NODE_TEST_CONTEXT: _, DATABASE_URL: _url, ...inherited } = process.env
  const env = { ...inherited, ...(database && { DATABASE_URL: await database.url }) }
  const options = { cwd: folder, env, extendEnv: false, reject: false } as const
  const { stdout, exitCode } = await execaNode('till.test.mjs', { ...options, nodeOptions: ['--test-reporter=tap'] })
  expect({ stdout, exitCode }).toEqual({ stdout: expect.stringContaining('\n# fail 0\n'), exitCode: 0 })
  // Two other tests, 12 races of which one has two tests; PostgreSQL has no test clock for the race of an expiry.
  expect(stdout).toContain(`\n# pass ${onPostgres ? 14 : 15}\n`)
})
