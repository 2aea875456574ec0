import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeEach, expect, test, vi } from 'vitest'
import { createFile, replaceFile } from '../../src/files/replace-file.js'

/** Calls that change the disk, in their order, each with what it acts on. */
const calls: string[] = []

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>()
  const opened = new Map<number, string>()
  const partOf = (file: unknown) => (typeof file === 'number' ? opened.get(file) : nameOf(String(file)))
  const nameOf = (path: string) => (path.includes('.tmp-') ? 'draft' : path === folder ? 'folder' : 'file')
  const openSync: typeof fs.openSync = (path, ...others) => {
    const file = fs.openSync(path, ...others)
    opened.set(file, nameOf(String(path)))
    return file
  }
  const recorded = (name: 'fsyncSync' | 'renameSync' | 'linkSync' | 'writeFileSync' | 'closeSync') =>
    ((...args: [never, never]) => {
      calls.push(`${name.replace('Sync', '')} ${partOf(args[0])}`)
      return fs[name](...args)
    }) as never
  const names = ['fsyncSync', 'renameSync', 'linkSync', 'writeFileSync', 'closeSync'] as const
  return { ...fs, openSync, ...Object.fromEntries(names.map((it) => [it, recorded(it)])) }
})

const folder = mkdtempSync(join(tmpdir(), 'replace-file-'))
afterAll(() => rmSync(folder, { recursive: true }))
beforeEach(() => calls.splice(0))

const path = join(folder, 'file')
const written = ['writeFile draft', 'fsync draft', 'close draft']
const folderSynced = ['fsync folder', 'close folder']

test('replaceFile syncs the content before the rename and the folder after it', () => {
  expect(dirname(path)).toBe(folder)
  replaceFile(path, 'one')
  expect(calls).toEqual([...written, 'rename draft', ...folderSynced])
  calls.splice(0)
  replaceFile(path, [Buffer.from('t'), Buffer.from('wo')], { isPrivate: false })
  expect(calls).toEqual(['writeFile draft', ...written, 'rename draft', ...folderSynced])
  expect(readFileSync(path, 'utf8')).toBe('two')
})

test('createFile syncs the content before the link and the folder after it', () => {
  expect(createFile(join(folder, 'new'), 'one', true)).toBe(true)
  expect(calls).toEqual([...written, 'link draft', ...folderSynced])
})

test('createFile syncs the folder too when another process has created the file', () => {
  expect(createFile(path, 'one', true)).toBe(false)
  expect(calls).toEqual([...written, 'link draft', ...folderSynced])
})

test('replaceFile and createFile sync nothing without flush', () => {
  replaceFile(path, 'three', { flush: false })
  createFile(join(folder, 'third'), 'one', false)
  expect(calls.filter((it) => it.startsWith('fsync'))).toEqual([])
})
