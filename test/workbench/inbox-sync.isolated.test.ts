import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { clearInbox, Inbox, type RecordedDelivery } from '../../src/workbench/inbox.js'
import { InboxWriter } from '../../src/workbench/inbox-writer.js'
import { temporaryDir } from '../support/cli/cli.js'

/** Size of the inbox file in bytes at each fdatasync; `fails` makes the next ones fail. `onWrite` precedes a write. */
const disk = { synced: [] as number[], fails: false, onWrite: () => {} }

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>()
  const fdatasync = (descriptor: number, callback: (error: Error | null) => void) => {
    disk.synced.push(fs.fstatSync(descriptor).size)
    callback(disk.fails ? Object.assign(new Error('EIO'), { code: 'EIO' }) : null)
  }
  const { promisify } = await import('node:util')
  const writeAsync = promisify(fs.write)
  const write = {
    [promisify.custom]: (...args: Parameters<typeof writeAsync>) => {
      disk.onWrite()
      return writeAsync(...args)
    },
  }
  return { ...fs, fdatasync: vi.fn(fdatasync), write: Object.assign(vi.fn(), write) }
})

const delivery = (verdict: RecordedDelivery['verdict'] = 'ok'): RecordedDelivery => ({
  at: 1_800_000_000_000,
  method: 'POST',
  url: '/',
  headers: [],
  verdict,
  reason: null,
  update_id: '1',
  type: 'ping',
  body: Buffer.from('{}'),
})

test('an inbox writer syncs verified deliveries, not refusals or responses', { tags: 'inbox-files/2' }, async () => {
  disk.synced.length = 0
  const dir = temporaryDir()
  const writer = new InboxWriter(dir)
  const size = () => statSync(join(dir, '000001.ndjson')).size
  await writer.recordDelivery(delivery('refused'))
  expect(disk.synced).toEqual([])
  const of = await writer.recordDelivery(delivery())
  const sizes = [size()]
  expect(disk.synced).toEqual(sizes)
  await Promise.all([writer.recordDelivery(delivery()), writer.recordDelivery(delivery())])
  sizes.push(size())
  expect(disk.synced).toEqual(sizes)
  const response = { of, at: 1_800_000_000_001, status: 200, duration_ms: 1, to: null, error: null, replay: false }
  await writer.recordResponse({ ...response, headers: [], body: Buffer.from('') })
  await writer.close()
  expect(disk.synced).toEqual(sizes)
})

test('an inbox writer rejects a delivery and removes its line if fdatasync fails', async () => {
  const dir = temporaryDir()
  const writer = new InboxWriter(dir)
  disk.fails = true
  await expect(writer.recordDelivery(delivery())).rejects.toThrow('EIO')
  disk.fails = false
  expect(statSync(join(dir, '000001.ndjson')).size).toBe(0)
  await writer.recordDelivery(delivery())
  await writer.close()
})

test.each([
  ['removed', undefined, []],
  ['replaced', 1_800_000_000_000, ['1-2']],
])('an inbox writer repeats a write into a file that inbox clear has %s', async (_name, before, kept) => {
  const dir = temporaryDir()
  const writer = new InboxWriter(dir)
  for (const at of [1_700_000_000_000, 1_800_000_000_000]) await writer.recordDelivery({ ...delivery(), at })
  disk.onWrite = () => {
    disk.onWrite = () => {}
    clearInbox(dir, before)
  }
  expect(await writer.recordDelivery(delivery())).toBe('1-3')
  expect(new Inbox(dir).find({}).map(({ id }) => id)).toEqual([...kept, '1-3'])
  await writer.close()
})
