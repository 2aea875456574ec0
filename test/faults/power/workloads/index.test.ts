import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { workloads } from './index.js'

const src = fileURLToPath(new URL('../../../../src', import.meta.url))
const SYNC = /\b(?:fsync|fsyncSync|fdatasync|fdatasyncSync|datasync|syncFolder|makeFolder|syncData|sync)\(/
/** Files with a function that calls fsync for others; the campaign needs the fsync in each of those. */
const helpers = ['files/sync-folder.ts', 'cli/bulk/appender.ts', 'store/postgres/batch.ts']
/** Files that make a folder for what the next run of the same command makes again. */
const repeatable = [
  'cli/commands/completion/user-files.ts',
  'cli/mcp/clients.ts',
  'cli/commands/webhook/secrets.ts',
  'server/place.ts',
]

it('every file of src/ that calls fsync has a workload that loses data without the fsync', () => {
  const calling = readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && SYNC.test(readFileSync(join(src, path), 'utf8')))
    .filter((path) => !helpers.includes(path) && !repeatable.includes(path))
  const needed = new Set(workloads.flatMap(({ syncs }) => syncs.map(({ call }) => call)))
  needed.delete('SQLite')
  expect([...needed].sort()).toEqual(calling.sort())
})
