import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  lchownSync,
  linkSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { expect, test } from 'vitest'
import { replaceFile } from '../../src/files/replace-file.js'
import { temporaryDir } from '../support/cli/cli.js'
import { foreignFile, NOBODY } from '../support/foreign-file.js'

const modeOf = (path: string) => statSync(path).mode & 0o777

test('replaceFile makes a private file of one that others could read', { tags: 'files-with-secrets/1' }, () => {
  const path = join(temporaryDir(), 'codes')
  writeFileSync(path, 'old')
  chmodSync(path, 0o666)
  replaceFile(path, 'new')
  expect([readFileSync(path, 'utf8'), modeOf(path), statSync(path).uid]).toEqual(['new', 0o600, process.geteuid?.()])
})

test('replaceFile leaves a hard link of the earlier file with its content and mode', () => {
  const dir = temporaryDir()
  const [path, other] = [join(dir, 'codes'), join(dir, 'other')]
  writeFileSync(path, 'old')
  chmodSync(path, 0o644)
  linkSync(path, other)
  replaceFile(path, 'new')
  expect([readFileSync(other, 'utf8'), modeOf(other), modeOf(path)]).toEqual(['old', 0o644, 0o600])
})

test('replaceFile refuses a file of another user, also behind a link', { tags: 'files-with-secrets/1' }, (context) => {
  const dir = temporaryDir()
  const path = join(dir, 'codes')
  foreignFile(context, path, 'old')
  const refusal = expect.objectContaining({ code: 'OWNED_BY_ANOTHER_USER' })
  expect(() => replaceFile(path, 'new')).toThrow(refusal)
  symlinkSync(path, join(dir, 'link'))
  expect(() => replaceFile(join(dir, 'link'), 'new')).toThrow(refusal)
  expect([readFileSync(path, 'utf8'), statSync(path).uid]).toEqual(['old', NOBODY])
  expect(readdirSync(dir)).toEqual(['codes', 'link'])
})

test('replaceFile refuses a symbolic link of another user', ({ skip }) => {
  skip(process.geteuid?.() !== 0, 'Only root can create a link of another user.')
  const dir = temporaryDir()
  const [own, link] = [join(dir, 'own'), join(dir, 'link')]
  writeFileSync(own, 'old')
  symlinkSync(own, link)
  lchownSync(link, NOBODY, NOBODY)
  expect(() => replaceFile(link, 'new')).toThrow(expect.objectContaining({ code: 'OWNED_BY_ANOTHER_USER' }))
  expect(readFileSync(own, 'utf8')).toBe('old')
  replaceFile(link, 'new', { follow: false })
  expect([lstatSync(link).isFile(), lstatSync(link).uid, readFileSync(own, 'utf8')]).toEqual([true, 0, 'old'])
})

test('replaceFile leaves a named pipe in place, which a rename would replace', ({ skip }) => {
  if (process.platform === 'win32') skip('Windows has no named pipes in folders')
  const pipe = join(temporaryDir(), 'pipe')
  execFileSync('mkfifo', [pipe])
  expect(() => replaceFile(pipe, 'x', { isPrivate: false })).toThrow(expect.objectContaining({ code: 'EINVAL' }))
  expect(lstatSync(pipe).isFIFO()).toBe(true)
})
