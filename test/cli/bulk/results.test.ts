import { execFileSync } from 'node:child_process'
import { existsSync, lstatSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { afterEach, expect, test, vi } from 'vitest'
import { Appender } from '../../../src/cli/bulk/appender.js'
import { ErrorsFile } from '../../../src/cli/bulk/errors-file.js'
import { Results } from '../../../src/cli/bulk/results.js'
import { temporaryDir } from '../../support/cli/cli.js'

afterEach(() => vi.restoreAllMocks())

const row = (line: number) => ({ line, values: { external_issue_id: `id-${line}`, recipient_user_id: 'u' } })

const action = { columns: { voucher_id: () => null }, id: 'voucher_id' } as const

/** Results whose files only record in `steps` when they are appended to and synced. */
function resultsWithSteps(refuse?: string) {
  const steps: string[] = []
  const file = (name: string) => {
    const act = async (what: string) => {
      steps.push(`${name} ${what}`)
      if (refuse === name) throw Object.assign(new Error('no space'), { code: 'ENOSPC' })
    }
    return { append: () => act('append'), sync: () => act('sync'), encode: () => 'error\n' }
  }
  const files = { results: file('results'), journal: file('journal'), errors: file('errors') }
  return { steps, results: new Results({ ...files, format: 'ndjson' }, action, new Map()) }
}

test('issue-many leaves a named pipe in the place of its files, and its mode', async ({ skip }) => {
  if (process.platform === 'win32') skip('Windows has no named pipes in folders')
  const pipe = join(temporaryDir(), 'pipe')
  execFileSync('mkfifo', ['-m', '644', pipe])
  await expect(Appender.open(pipe, '')).rejects.toMatchObject({ code: 'EINVAL' })
  expect(await ErrorsFile.at(pipe, { errorIds: [] })).toMatchObject({ code: 'FILE_UNWRITABLE' })
  expect([lstatSync(pipe).isFIFO(), lstatSync(pipe).mode & 0o777]).toEqual([true, 0o644])
})

test('a full disk at the first line removes a new file of issue-many and keeps an existing one', async () => {
  const [added, existing] = [join(temporaryDir(), 'new'), join(temporaryDir(), 'existing')]
  const file = await open(existing, 'w')
  vi.spyOn(Object.getPrototypeOf(file), 'write').mockRejectedValue(Object.assign(new Error(), { code: 'ENOSPC' }))
  await file.close()
  for (const path of [added, existing]) await expect(Appender.open(path, 'line\n')).rejects.toThrow()
  expect([existsSync(added), existsSync(existing)]).toEqual([false, true])
})

test('issue-many syncs results to disk before it records them in the journal', async () => {
  const { steps, results } = resultsWithSteps()
  await results.keep({ row: row(1), key: 'k', data: { id: 'vch_1' } })
  await results.keep({ row: row(2), key: 'k', failure: { code: 'C', message: 'm', requestId: null } })
  await results.close()
  expect(steps).toEqual(['results append', 'results sync', 'errors append', 'journal append'])
})

test('issue-many also writes results that arrive while it writes earlier ones', async () => {
  const { steps, results } = resultsWithSteps()
  await results.keep({ row: row(1), key: 'k', data: null })
  const closing = results.close()
  await results.keep({ row: row(2), key: 'k', data: null })
  await closing
  await results.close()
  expect(steps.filter((it) => it === 'journal append').length).toBeGreaterThan(0)
  expect(results.error).toBeUndefined()
})

test.each(['results', 'errors', 'journal'])(
  'issue-many reports a full disk of its %s file and writes nothing more to any file',
  async (name) => {
    const { steps, results } = resultsWithSteps(name)
    await results.keep({ row: row(1), key: 'k', data: null })
    await results.keep({ row: row(2), key: 'k', failure: { code: 'C', message: 'm', requestId: null } })
    await results.close()
    expect(results.error).toMatchObject({ code: 'ENOSPC' })
    const before = steps.length
    await results.keep({ row: row(3), key: 'k', data: null })
    await results.close()
    expect(steps).toHaveLength(before)
    expect(steps.at(-1)).toBe(`${name} append`)
  },
)
