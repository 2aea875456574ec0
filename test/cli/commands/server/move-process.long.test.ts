import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { built } from '../../../support/cli/built-cli.js'
import { temporaryFolder } from '../../../support/server/server.js'
import { rowLinesOf } from '../../../support/store/move.js'
import { fillMoveFolders, type MoveFolders } from '../../../support/store/move-source.js'
import { expectNothingOfKilledImport } from './killed-import.js'

const home = temporaryFolder()
/** A database of 84 MB: SQLite writes changed pages above 64 MB to disk before the commit. */
const ROWS = 24_000
let folders: MoveFolders
beforeAll(async () => {
  folders = await fillMoveFolders(home, ROWS)
}, 120_000)
afterAll(() => {
  rmSync(home, { recursive: true, force: true })
})

test('a killed server export of 84 MB leaves no output file, and the next export writes it', async () => {
  const { source, file } = folders
  const out = join(home, 'killed.ndjson')
  const drafts = () => readdirSync(home).filter((it) => it.startsWith('killed.ndjson.tmp-'))
  for (let round = 0; round < 3; round++) {
    const child = built.start(['server', 'export', '--data', source, '--out', out], home)
    const ended = once(child, 'close')
    await vi.waitUntil(() => drafts().length > 0, { timeout: 30_000, interval: 1 })
    child.kill('SIGKILL')
    await ended
    // The export sometimes finishes before SIGKILL arrives.
    if (!existsSync(out)) expect(drafts().length).toBe(1)
    else expect(rowLinesOf(readFileSync(out, 'utf8')).length).toBe(ROWS + 1)
    rmSync(out, { force: true })
  }
  expect((await built.run(['server', 'export', '--data', source, '--out', out], home)).exit).toBe(0)
  expect(rowLinesOf(readFileSync(out, 'utf8'))).toEqual(rowLinesOf(readFileSync(file, 'utf8')))
  expect(drafts()).toEqual([])
})

test('a server import that is killed with uncommitted pages on disk leaves an empty database', async () => {
  const { file, newTarget } = folders
  const isDue = (journal: string) => existsSync(journal) && statSync(journal).size > 1_000_000
  await expectNothingOfKilledImport({ home, file, rows: ROWS, target: newTarget(), isDue })
})
