import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { expect, test } from 'vitest'
import { readRegular } from '../../src/files/read-file.js'
import { readLines } from '../../src/files/summed-lines.js'
import { cli, temporaryDir } from '../support/cli/cli.js'

const others: [what: string, make: (path: string) => void][] = [
  ['a named pipe', (path) => void execFileSync('mkfifo', [path])],
  ['a folder', (path) => mkdirSync(path)],
]

test.each(others)('readers of files that programs write refuse %s at once', async (what, make) => {
  if (what === 'a named pipe' && process.platform === 'win32') return
  const dir = temporaryDir()
  const path = join(dir, '000001.ndjson')
  make(path)
  const refusal = expect.objectContaining({ code: 'NOT_A_FILE' })
  expect(() => readRegular(path)).toThrow(refusal)
  expect(() => [...readLines(path)]).toThrow(refusal)
  const { exit, stderr } = await cli(`webhook inbox list --inbox ${dir} --json`)
  expect([exit, JSON.parse(stderr).error.message]).toEqual([
    1,
    `The inbox ${dir} cannot be used: a folder, pipe or device is in the place of a file.`,
  ])
})

test('readRegular reads a file, and names one that is too large', { tags: 'bounded-reads/1' }, () => {
  const path = join(temporaryDir(), 'file')
  writeFileSync(path, 'text')
  expect(readRegular(path)).toBe('text')
  writeFileSync(path, Buffer.alloc(16 * 1024 * 1024 + 1))
  expect(() => readRegular(path)).toThrow(expect.objectContaining({ code: 'FILE_TOO_LARGE' }))
})
