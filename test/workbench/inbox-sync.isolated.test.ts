import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { InboxWriter } from '../../src/workbench/inbox-writer.js'
import { temporaryDir } from '../support/cli.js'

/** Size of the inbox file in bytes at each fsync. */
const synced: number[] = []

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>()
  const note = (descriptor: number) => void synced.push(fs.fstatSync(descriptor).size)
  return { ...fs, fdatasync: vi.fn(note), fdatasyncSync: vi.fn(note) }
})

test('an inbox writer syncs its file to disk once a second and when it closes', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const dir = temporaryDir()
  const writer = new InboxWriter(dir)
  const size = () => statSync(join(dir, '000001.ndjson')).size
  const record = () =>
    writer.recordDelivery({
      at: 1_800_000_000_000,
      method: 'POST',
      url: '/',
      headers: [],
      verdict: 'ok',
      reason: null,
      update_id: '1',
      type: 'ping',
      body: Buffer.from('{}'),
    })
  await record()
  expect(synced).toEqual([])
  vi.advanceTimersByTime(1_000)
  const sizes = [size()]
  expect(synced).toEqual(sizes)
  await record()
  await record()
  vi.advanceTimersByTime(1_000)
  sizes.push(size())
  expect(synced).toEqual(sizes)
  await record()
  await writer.close()
  expect(synced).toEqual([...sizes, size()])
  vi.advanceTimersByTime(5_000)
  expect(synced).toHaveLength(3)
})
