import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { foldersOf } from '../../src/cli/config/project-file.js'
import { foreignness, othersMay } from '../../src/cli/host/permissions.js'
import { platform, platformOf } from '../../src/files/platform.js'
import { root } from '../support/planting.js'

const folder = mkdtempSync(join(tmpdir(), 'voucherctl-platform-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const windows = platformOf('win32')

test('no other file of src/ or bin/ asks on which system it runs', () => {
  const files = ['src', 'bin'].flatMap((it) =>
    readdirSync(join(root, it), { recursive: true, encoding: 'utf8' }).map((path) => join(it, path)),
  )
  const asking = files
    .filter((path) => /\.[cm]?[jt]sx?$/.test(path))
    // A text that only shows it may name it.
    .filter((path) => /(?<!\$\{)process\.platform|'(?:win32|darwin)'/.test(readFileSync(join(root, path), 'utf8')))
  expect(asking).toEqual([join('src', 'files', 'platform.ts')])
})

test('the platform of this process is the one with its name', () => {
  expect(platform).toEqual(platformOf(process.platform))
})

test.each<[NodeJS.Platform, Partial<typeof platform>]>([
  ['linux', { hasOwners: true, namesDisplay: true, startsLoginShells: false, defaultShell: undefined }],
  ['darwin', { hasOwners: true, namesDisplay: false, startsLoginShells: true, syncsFolders: true }],
  ['freebsd', { hasOwners: true, namesDisplay: false, removesOpenFiles: true, hasByteStdout: true }],
  ['win32', { hasOwners: false, syncsFolders: false, removesOpenFiles: false, hasByteStdout: false }],
])('platformOf(%j) has what is known of that system', (name, known) => {
  expect(platformOf(name)).toMatchObject(known)
})

test('permission bits and owners of files count only where Node reports them', () => {
  const stats = { uid: 4_294_967_294, gid: 0, mode: 0o100_666 }
  expect(foreignness('/p', stats, platformOf('linux'))).toContain('belongs to another user')
  expect(foreignness('/p', stats, windows)).toBeUndefined()
  expect([othersMay('/', platformOf('darwin')) > 0, othersMay('/', windows)]).toEqual([true, 0])
})

test('a project file outside of home is searched only in the working folder without owners', () => {
  const place = { cwd: join(folder, 'a', 'b'), homeDir: '/home/nobody' }
  expect(foldersOf(place, windows)).toEqual([place.cwd])
  expect(foldersOf(place, platformOf('darwin')).slice(0, 3)).toEqual([place.cwd, join(folder, 'a'), folder])
})
