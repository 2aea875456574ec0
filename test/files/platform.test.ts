import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isForeign, othersMay } from '../../src/cli/host/permissions.js'
import { platform, platformOf } from '../../src/files/platform.js'
import { root } from '../support/planting.js'

const windows = platformOf('win32')

test('only platform.ts and the entry in bin/ ask on which system they run', () => {
  const files = ['src', 'bin'].flatMap((it) =>
    readdirSync(join(root, it), { recursive: true, encoding: 'utf8' }).map((path) => join(it, path)),
  )
  const asking = files
    .filter((path) => /\.[cm]?[jt]sx?$/.test(path))
    // A text that only shows it may name it.
    .filter((path) => /(?<!\$\{)process\.platform|'(?:win32|darwin)'/.test(readFileSync(join(root, path), 'utf8')))
  expect(asking.sort()).toEqual([join('bin', 'voucherctl.js'), join('src', 'files', 'platform.ts')])
})

test('the platform of this process has its name', () => {
  expect(platform).toEqual(platformOf(process.platform))
})

test.each<[NodeJS.Platform, Partial<typeof platform>]>([
  ['linux', { hasOwners: true, namesDisplay: true, startsLoginShells: false, defaultShell: undefined }],
  ['darwin', { hasOwners: true, namesDisplay: false, startsLoginShells: true, syncsFolders: true }],
  ['freebsd', { hasOwners: true, namesDisplay: false, removesOpenFiles: true, hasByteStdout: true }],
  ['win32', { hasOwners: false, syncsFolders: false, removesOpenFiles: false, hasByteStdout: false }],
])('platformOf(%j) has the facts known of that system', (name, known) => {
  expect(platformOf(name)).toMatchObject(known)
})

test('permission bits and owners of files count only where Node reports them', () => {
  const stats = { uid: 4_294_967_294, gid: 0, mode: 0o100_666 }
  expect([isForeign(stats, platformOf('linux')), isForeign(stats, windows)]).toEqual([true, false])
  expect([othersMay('/', platformOf('darwin')) > 0, othersMay('/', windows)]).toEqual([true, 0])
})
