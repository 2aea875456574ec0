import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { inFolder } from '../../support/server/server.js'
import { type DiskEvent, readTrace } from './trace.js'

const hex = (text: string) => [...Buffer.from(text)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')

const eventsOf = (lines: readonly string[]) =>
  inFolder(async (folder) => {
    const path = join(folder, 'trace')
    writeFileSync(path, `${lines.join('\n')}\n`)
    const events: DiskEvent[] = []
    for await (const event of readTrace(path, '/d')) events.push(event)
    return events
  })

it('a trace of strace becomes changes of files, without failed calls and other folders', async () => {
  const file = `18<${hex('/d/a, b')}>`
  const cwd = `AT_FDCWD<${hex('/d')}>`
  const events = await eventsOf([
    `7 openat(${cwd}, "${hex('/d/a, b')}", O_WRONLY|O_CREAT|O_EXCL|O_CLOEXEC, 0600) = ${file}`,
    `7 openat(${cwd}, "${hex('/d/a, b')}", O_RDONLY|O_CLOEXEC) = ${file}`,
    `7 openat(${cwd}, "${hex('/d/b')}", O_WRONLY|O_CREAT|O_EXCL|O_CLOEXEC, 0600) = -1 EEXIST (File exists)`,
    `7 write(${file}, "${hex('text')}", 4) = 3`,
    `7 pwrite64(${file}, "${hex('(x)')}", 3, 512) = 3`,
    `7 writev(${file}, [{iov_base="${hex('a')}", iov_len=1}, {iov_base="${hex('b')}", iov_len=1}], 2) = 2`,
    `7 write(1<${hex('pipe:[1]')}>, "${hex('text')}", 4) = 4`,
    `7 ftruncate(${file}, 10) = 0`,
    `7 rename("${hex('/d/b')}", "${hex('/d/c')}") = 0`,
    `7 linkat(${cwd}, "${hex('c')}", ${cwd}, "${hex('e')}", 0) = 0`,
    `7 unlink("${hex('/elsewhere')}") = 0`,
  ])
  expect(events).toEqual([
    { kind: 'create', path: '/d/a, b', isEmptied: false },
    { kind: 'write', path: '/d/a, b', offset: undefined, bytes: Buffer.from('tex') },
    { kind: 'write', path: '/d/a, b', offset: 512, bytes: Buffer.from('(x)') },
    { kind: 'write', path: '/d/a, b', offset: undefined, bytes: Buffer.from('ab') },
    { kind: 'truncate', path: '/d/a, b', size: 10 },
    { kind: 'rename', from: '/d/b', path: '/d/c' },
    { kind: 'link', from: '/d/c', path: '/d/e' },
  ])
})

it('a sync in a trace begins before the calls of other threads that interrupt it', async () => {
  const file = `18<${hex('/d/a')}>`
  const events = await eventsOf([
    `7 fdatasync(${file} <unfinished ...>`,
    `8 pwrite64(${file}, "${hex('x')}", 1, 0) = 1`,
    '7 <... fdatasync resumed>) = 0',
    `7 fsync(${file}) = -1 EIO (Input/output error)`,
  ])
  expect(events.map(({ kind }) => kind)).toEqual(['sync begin', 'write', 'sync end'])
})

it('trace reader fails at a call that the disk model lacks', async () => {
  await expect(eventsOf([`7 fallocate(18<${hex('/d/a')}>, 0, 0, 4096) = 0`])).rejects.toThrow('no fallocate')
})
