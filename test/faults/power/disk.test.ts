import { describe, expect, it } from 'vitest'
import { Random } from '../random.js'
import { Disk, type DiskState } from './disk.js'
import type { DiskEvent } from './trace.js'

const ROOT = '/disk'
const at = (name: string) => `${ROOT}/${name}`
const created = (name: string): DiskEvent => ({ kind: 'create', path: at(name), isEmptied: false })
const written = (name: string, text: string, offset?: number): DiskEvent => ({
  kind: 'write',
  path: at(name),
  offset,
  bytes: Buffer.from(text),
})
const sync = (path: string): DiskEvent[] => [
  { kind: 'sync begin', path, id: '1' },
  { kind: 'sync end', path, id: '1' },
]
const synced = (name: string) => sync(at(name))
const namesSynced = () => sync(ROOT)

const diskOf = (events: readonly DiskEvent[]) => {
  const disk = new Disk(ROOT)
  for (const event of events) disk.add(event)
  return disk
}

/** Texts of a file in many states after all events; `undefined` without the file. */
function contentsOf(events: readonly DiskEvent[], name: string, after = events.length): Set<string | undefined> {
  const disk = diskOf(events)
  const states = Array.from({ length: 300 }, (_, n): DiskState => disk.stateAfter(after, new Random(`state ${n}`)))
  return new Set(states.map(({ files }) => files.get(name)?.toString()))
}

describe('the model of a disk', () => {
  it('disk model keeps a write in every state after a sync has covered it', () => {
    expect(contentsOf([created('a'), ...namesSynced(), written('a', 'text'), ...synced('a')], 'a')).toEqual(
      new Set(['text']),
    )
  })

  it('disk model may lose a write until its sync has ended, or a write after the sync', () => {
    const [begin, end] = synced('a') as [DiskEvent, DiskEvent]
    const events = [created('a'), ...namesSynced(), written('a', 'old'), begin, written('a', 'new'), end]
    expect(contentsOf(events, 'a', events.length - 1)).toContain('')
    expect(contentsOf(events, 'a')).toEqual(new Set(['old', 'oldnew', 'old\0\0\0']))
  })

  it('disk model loses any 512-byte sectors of an unsynced write', () => {
    const text = 'x'.repeat(512) + 'y'.repeat(512)
    const contents = contentsOf([created('a'), ...namesSynced(), written('a', text)], 'a')
    const zeros = '\0'.repeat(512)
    const first = text.slice(0, 512)
    expect(contents).toEqual(new Set(['', text, first, zeros + text.slice(512), first + zeros, zeros + zeros]))
  })

  it('disk model may undo an unsynced truncation', () => {
    const cut: DiskEvent = { kind: 'truncate', path: at('a'), size: 1 }
    const events = [created('a'), ...namesSynced(), written('a', 'text'), ...synced('a'), cut]
    expect(contentsOf(events, 'a')).toEqual(new Set(['text', 't']))
  })

  it('disk model may lose a new name until its folder is synced, even if the file is synced', () => {
    const events = [created('a'), written('a', 'text'), ...synced('a')]
    expect(contentsOf(events, 'a')).toEqual(new Set([undefined, 'text']))
    expect(contentsOf([...events, ...namesSynced()], 'a')).toEqual(new Set(['text']))
  })

  it('disk model may keep a rename and lose the unsynced content of the file', () => {
    const renamed: DiskEvent = { kind: 'rename', from: at('draft'), path: at('a') }
    const before = [created('a'), written('a', 'old'), ...synced('a'), ...namesSynced()]
    const contents = contentsOf([...before, created('draft'), written('draft', 'new'), renamed], 'a')
    expect(contents).toEqual(new Set(['old', 'new', '', '\0\0\0']))
  })

  it('disk model loses a folder with its files until the parent folder is synced', () => {
    const made: DiskEvent = { kind: 'mkdir', path: at('sub') }
    const events = [made, created('sub/a'), written('sub/a', 'text'), ...synced('sub/a'), ...synced('sub')]
    expect(contentsOf(events, 'sub/a')).toEqual(new Set([undefined, 'text']))
    expect(contentsOf([...events, ...namesSynced()], 'sub/a')).toEqual(new Set(['text']))
  })

  it('disk model has the files that programs saw after all events without a power failure', () => {
    const linked: DiskEvent = { kind: 'link', from: at('a'), path: at('b') }
    const removed: DiskEvent = { kind: 'remove', path: at('a') }
    const { files } = diskOf([created('a'), written('a', 'text'), linked, removed]).whole(new Random('whole'))
    expect([...files].map(([name, content]) => [name, content.toString()])).toEqual([['b', 'text']])
  })
})
