import { mkdirSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { FileWatch } from '../../../src/cli/host/file-watch.js'
import { temporaryDir } from '../../support/cli/cli.js'

const { signal } = new AbortController()

/** Watches `path`. The returned function acts and resolves to the reported name. */
function watching(path: string) {
  const watch = new FileWatch([path])
  onTestFinished(() => watch.close())
  return (act: () => void) => {
    const next = watch.next(signal)
    act()
    return next
  }
}

describe('FileWatch', () => {
  test('FileWatch reports a file that is written, replaced, deleted and created again', async () => {
    const dir = temporaryDir()
    const path = join(dir, 'seed.yaml')
    writeFileSync(path, '1')
    const after = watching(path)
    expect(await after(() => writeFileSync(path, '2'))).toBe('seed.yaml')
    writeFileSync(join(dir, 'new'), '3')
    expect(await after(() => renameSync(join(dir, 'new'), path))).toBe('seed.yaml')
    expect(await after(() => unlinkSync(path))).toBe('seed.yaml')
    expect(await after(() => writeFileSync(path, '4'))).toBe('seed.yaml')
  })

  test.skipIf(process.platform === 'win32')('FileWatch follows a link to its target, also to another one', async () => {
    const [dir, other] = [temporaryDir(), temporaryDir()]
    const path = join(dir, 'seed.yaml')
    for (const name of ['a', 'b']) writeFileSync(join(other, name), '1')
    symlinkSync(join(other, 'a'), path)
    const after = watching(path)
    expect(await after(() => writeFileSync(join(other, 'a'), '2'))).toBe('seed.yaml')
    symlinkSync(join(other, 'b'), join(dir, 'new'))
    expect(await after(() => renameSync(join(dir, 'new'), path))).toBe('seed.yaml')
    expect(await after(() => writeFileSync(join(other, 'b'), '2'))).toBe('seed.yaml')
  })

  test.skipIf(process.platform === 'win32')('FileWatch follows a folder that is replaced by another', async () => {
    const dir = temporaryDir()
    const [folder, next] = [join(dir, 'seeds'), join(dir, 'next')]
    for (const it of [folder, next]) {
      mkdirSync(it)
      writeFileSync(join(it, 'seed.yaml'), it)
    }
    const after = watching(join(folder, 'seed.yaml'))
    const replace = () => {
      renameSync(folder, join(dir, 'old'))
      renameSync(next, folder)
    }
    expect(await after(replace)).toBe('seed.yaml')
    expect(await after(() => writeFileSync(join(folder, 'seed.yaml'), 'new'))).toBe('seed.yaml')
  })

  test('FileWatch refuses a folder that does not exist', () => {
    expect(() => new FileWatch([join(temporaryDir(), 'none', 'seed.yaml')])).toThrow('ENOENT')
  })
})
