import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { failures } from '../../../../src/contract/errors.js'
import { endpoints } from '../../../../src/contract/index.js'
import { cli, temporaryDir } from '../../../support/cli/cli.js'

const run = (args: string, home: string) => cli(`server openapi ${args}`, { home, cwd: home })

test('server openapi --html writes every endpoint and failure into one file that loads nothing', async () => {
  const home = temporaryDir()
  writeFileSync(join(home, 'reference.html'), 'an earlier one')
  const { exit, stdout, stderr } = await run('--html reference.html', home)
  expect([exit, stdout, stderr]).toEqual([0, 'Wrote the reference to reference.html.\n', ''])
  const html = readFileSync(join(home, 'reference.html'), 'utf8')
  for (const { id } of endpoints) expect(html).toContain(`<article id="${id}">`)
  for (const code of Object.keys(failures)) expect(html).toContain(`<tr id="${code}">`)
  const targets = [...html.matchAll(/href="#([^"]+)"/g)].map(([, it]) => it)
  const ids = new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, it]) => it))
  expect(targets.filter((it) => !ids.has(it))).toEqual([])
  expect(html).not.toMatch(/ (?:src|srcset|href)="(?!#)|url\(|@import/)
})

test('server openapi --html --dry-run writes no file, and --json reports the written file', async () => {
  const home = temporaryDir()
  expect((await run('--html reference.html --dry-run', home)).exit).toBe(0)
  expect(() => readFileSync(join(home, 'reference.html'))).toThrow()
  const { stdout } = await run('--html reference.html --json', home)
  expect(JSON.parse(stdout)).toEqual({ html: 'reference.html', endpoints: endpoints.length })
})

test('server openapi --html fails with FILE_UNWRITABLE in a folder that does not exist', async () => {
  const { exit, stderr } = await run('--html missing/reference.html --json', temporaryDir())
  expect([exit, JSON.parse(stderr).error.code]).toEqual([1, 'FILE_UNWRITABLE'])
})
