import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { RecordedAnswer, RecordedDelivery } from '../../src/webhooks/inbox-frames.js'
import { decodeFrame, encodeFrame } from '../../src/webhooks/inbox-frames.js'
import { clearBefore, clearInbox } from '../../src/webhooks/inbox-clearing.js'
import { InboxWriter } from '../../src/webhooks/inbox-writer.js'
import { Inbox } from '../../src/webhooks/inbox.js'
import { temporaryDir } from '../support/cli.js'

const delivery = (id: number, more: Partial<RecordedDelivery> = {}): RecordedDelivery => ({
  at: 1_800_000_000_000 + id,
  method: 'POST',
  url: '/hook',
  headers: ['Host', 'localhost', 'X-Platform-Update-Id', String(id)],
  verdict: 'ok',
  reason: null,
  update_id: String(id),
  type: 'message',
  body: Buffer.from(`{"update_id":${id}}`),
  ...more,
})

const answer = (of: string, status: number | null, more: Partial<RecordedAnswer> = {}): RecordedAnswer => ({
  of,
  at: 1_800_000_001_000,
  status,
  duration_ms: 3,
  to: 'http://localhost:3000/',
  error: null,
  replay: false,
  ...more,
})

const ids = (inbox: Inbox, filter: Parameters<Inbox['find']>[0] = {}) => inbox.find(filter).map((it) => it.id)

test('every record comes back as it was written, whatever its bytes', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 5_000 }),
      fc.array(fc.string({ unit: fc.integer({ min: 1, max: 255 }).map((it) => String.fromCharCode(it)) })),
      fc.string({ unit: 'binary' }),
      (bytes, headers, url) => {
        const value = delivery(1, { body: Buffer.from(bytes), headers, url })
        expect(decodeFrame(encodeFrame({ kind: 'delivery', value }))).toEqual({ kind: 'delivery', value })
      },
    ),
    { seed: 1 },
  )
})

test('a frame with any changed byte is no record', () => {
  const frame = encodeFrame({ kind: 'delivery', value: delivery(1) })
  for (let at = 0; at < frame.length; at++) {
    const changed = Buffer.from(frame)
    changed[at] = (changed[at] ?? 0) ^ 0x41
    expect(decodeFrame(changed)).toBeUndefined()
  }
})

test('what is written is there for a reader at once, in ascending ids, with the last answer', async () => {
  const dir = temporaryDir()
  const writer = InboxWriter.open(dir)
  const given = await Promise.all([1, 2, 3].map((id) => writer.deliver(delivery(id))))
  expect(given).toEqual(['1-1', '1-2', '1-3'])
  await writer.answer(answer('1-2', 500))
  await writer.answer(answer('1-2', 200, { at: 1_800_000_002_000, replay: true }))
  const inbox = Inbox.open(dir)
  expect(ids(inbox)).toEqual(given)
  expect(inbox.find({}, 2).map(({ id, status }) => [id, status])).toEqual([
    ['1-2', 200],
    ['1-3', undefined],
  ])
  const stored = inbox.read({ id: '1-2', segment: 1, number: 2 })
  expect(stored).toEqual({
    ...delivery(2),
    id: '1-2',
    answers: [answer('1-2', 500), expect.objectContaining({ status: 200 })],
  })
  expect(inbox.byId('3')?.id).toBe('1-3')
  expect([inbox.byId('1-4'), inbox.byId('9'), inbox.byId('1-0'), inbox.byId('x')]).toEqual(Array(4).fill(undefined))
  await writer.close()
})

test('files are 0600 in a folder of 0700', async () => {
  const dir = join(temporaryDir(), 'a', 'inbox')
  const writer = InboxWriter.open(dir)
  for (let id = 0; id < 300; id++) await writer.deliver(delivery(id, { body: Buffer.alloc(1_024) }))
  Inbox.open(dir)
  expect(statSync(dir).mode & 0o777).toBe(0o700)
  const names = readdirSync(dir)
  expect(names.map((it) => it.slice(0, 10)).sort()).toEqual(['000001.cla', '000001.idx', '000001.seg'])
  for (const name of names) expect(statSync(join(dir, name)).mode & 0o777).toBe(0o600)
  await writer.close()
})

test('cut at any byte, every record before the cut is served and the next writer goes on behind it', async () => {
  const whole = temporaryDir()
  const writer = InboxWriter.open(whole)
  const ends: number[] = []
  const segment = join(whole, '000001.seg')
  for (const id of [1, 2, 3]) {
    await writer.deliver(delivery(id))
    ends.push(statSync(segment).size)
  }
  await writer.close()
  const dir = temporaryDir()
  for (let size = 16; size < (ends[2] ?? 0); size++) {
    copyFileSync(segment, join(dir, '000001.seg'))
    truncateSync(join(dir, '000001.seg'), size)
    const before = ends.filter((end) => end <= size).length
    expect(Inbox.open(dir).count).toBe(before)
    const next = InboxWriter.open(dir)
    expect(await next.deliver(delivery(9))).toBe(`1-${before + 1}`)
    await next.close()
    const inbox = Inbox.open(dir)
    expect(inbox.count).toBe(before + 1)
    expect(inbox.byId('9')?.id).toBe(`1-${before + 1}`)
  }
})

test('a segment whose head is torn is left alone, and the next one is used', async () => {
  const dir = temporaryDir()
  writeFileSync(join(dir, '000001.seg'), 'VCIN')
  const writer = InboxWriter.open(dir)
  expect(await writer.deliver(delivery(1))).toBe('2-1')
  await writer.close()
  expect(ids(Inbox.open(dir))).toEqual(['2-1'])
})

test('garbage behind the last record is cut off and never served', async () => {
  const dir = temporaryDir()
  const writer = InboxWriter.open(dir)
  await writer.deliver(delivery(1))
  await writer.close()
  const path = join(dir, '000001.seg')
  const size = statSync(path).size
  writeFileSync(path, Buffer.concat([readFileSync(path), Buffer.alloc(3_000_000, 7)]))
  expect(Inbox.open(dir).count).toBe(1)
  await InboxWriter.open(dir).close()
  expect(statSync(path).size).toBe(size)
})

const large = Buffer.alloc(200_000, 'x')

test('an index is made when it is missing, and made anew when it is damaged, of another segment or ahead of it', async () => {
  const dir = temporaryDir()
  const writer = InboxWriter.open(dir)
  for (let id = 1; id <= 4; id++) await writer.deliver(delivery(id, { body: large }))
  await writer.answer(answer('1-2', 204))
  const indexFile = join(dir, '000001.idx')
  const all = () =>
    Inbox.open(dir)
      .find({})
      .map(({ id, status }) => [id, status])
  const expected = all()
  expect(expected).toEqual([
    ['1-1', undefined],
    ['1-2', 204],
    ['1-3', undefined],
    ['1-4', undefined],
  ])
  const good = readFileSync(indexFile)
  for (const at of [0, 8, 16, 24, 32, 40, good.length - 1]) {
    const bad = Buffer.from(good)
    bad[at] = (bad[at] ?? 0) ^ 1
    writeFileSync(indexFile, bad)
    expect(all()).toEqual(expected)
    expect(readFileSync(indexFile).equals(good)).toBe(true)
  }
  await writer.deliver(delivery(5))
  expect(all()).toHaveLength(5)
  await writer.close()
  truncateSync(join(dir, '000001.seg'), 300_000)
  expect(all()).toEqual([['1-1', undefined]])
})

test('what the index names is read without the rest: a damaged neighbour is not met', async () => {
  const dir = temporaryDir()
  const writer = InboxWriter.open(dir)
  for (let id = 1; id <= 3; id++) await writer.deliver(delivery(id, { body: large }))
  await writer.close()
  Inbox.open(dir)
  const path = join(dir, '000001.seg')
  const bytes = readFileSync(path)
  bytes[250_000] = 0
  writeFileSync(path, bytes)
  const inbox = Inbox.open(dir)
  expect(inbox.read({ id: '1-3', segment: 1, number: 3 })?.body.equals(large)).toBe(true)
  expect(inbox.read({ id: '1-2', segment: 1, number: 2 })).toBeUndefined()
})

test('two writers have segments of their own, and a later one goes on with the last', async () => {
  const dir = temporaryDir()
  const [one, other] = [InboxWriter.open(dir), InboxWriter.open(dir)]
  expect([await one.deliver(delivery(1)), await other.deliver(delivery(2))]).toEqual(['1-1', '2-1'])
  await other.answer(answer('1-1', 200, { replay: true }))
  await Promise.all([one.close(), other.close()])
  const third = InboxWriter.open(dir)
  expect(await third.deliver(delivery(3))).toBe('2-2')
  await third.close()
  const inbox = Inbox.open(dir)
  expect(inbox.find({}).map(({ id, status }) => [id, status])).toEqual([
    ['1-1', 200],
    ['2-1', undefined],
    ['2-2', undefined],
  ])
  expect(inbox.read({ id: '1-1', segment: 1, number: 1 })?.answers).toEqual([answer('1-1', 200, { replay: true })])
})

test('the claim of a process that died does not hold a segment', async () => {
  const dir = temporaryDir()
  mkdirSync(dir, { recursive: true })
  const first = InboxWriter.open(dir)
  await first.deliver(delivery(1))
  await first.close()
  // The number of this process with another start: it was given to us after its holder died.
  writeFileSync(join(dir, `000001.claim-${process.pid}-1-abcd`), '')
  const writer = InboxWriter.open(dir)
  expect(await writer.deliver(delivery(2))).toBe('1-2')
  await writer.close()
  expect(readdirSync(dir)).toEqual(['000001.seg'])
})

test('a full segment is followed by the next, and ids go on ascending', async () => {
  const dir = temporaryDir()
  const writer = InboxWriter.open(dir, { segmentBytesMax: 1_000 })
  const given: string[] = []
  for (let id = 1; id <= 8; id++) given.push(await writer.deliver(delivery(id, { body: Buffer.alloc(400) })))
  await writer.close()
  expect(new Set(given.map((it) => it.split('-')[0])).size).toBeGreaterThan(2)
  expect(ids(Inbox.open(dir))).toEqual(given)
})

test('failed is what was not answered 2xx, neither itself nor by a later repeat of the same bytes', async () => {
  const dir = temporaryDir()
  const writer = InboxWriter.open(dir)
  const put = async (value: RecordedDelivery, ...statuses: (number | null)[]) => {
    const id = await writer.deliver(value)
    for (const status of statuses) await writer.answer(answer(id, status))
    return id
  }
  await put(delivery(1), 200)
  const failed = await put(delivery(2), 502)
  await put(delivery(3), 500)
  await put(delivery(3), 204)
  await put(delivery(4), 500, 200)
  const silent = await put(delivery(5), null)
  const unanswered = await put(delivery(6))
  await put(delivery(7, { verdict: 'refused', update_id: null, type: null, reason: 'stale' }))
  await put(delivery(2, { body: Buffer.from('{"update_id":2 }') }), 200)
  await put(delivery(8), 500)
  const repeatedInVain = await put(delivery(8), 503)
  await put(delivery(2, { verdict: 'duplicate' }), 502)
  await writer.close()
  expect(ids(Inbox.open(dir), { failed: true })).toEqual([failed, silent, unanswered, repeatedInVain])
})

test('what the process that writes has no answer to yet is not failed, nor is what it repeats; what a killed one left is', async () => {
  const dir = temporaryDir()
  const first = InboxWriter.open(dir)
  const left = await first.deliver(delivery(1))
  await first.deliver(delivery(2))
  await first.close()
  const writer = InboxWriter.open(dir, { segmentBytesMax: 1_000 })
  await writer.deliver(delivery(2))
  const refused = await writer.deliver(delivery(3))
  await writer.answer(answer(refused, 500))
  // The next one lies in another segment.
  await writer.deliver(delivery(4, { body: Buffer.alloc(1_000) }))
  await writer.deliver(delivery(5))
  expect(ids(Inbox.open(dir), { failed: true })).toEqual([left, refused])
  await writer.close()
  expect(ids(Inbox.open(dir), { failed: true })).toEqual([left, '1-3', refused, '1-5', '2-1'])
})

test('filters by type, verdict and time', async () => {
  const dir = temporaryDir()
  const writer = InboxWriter.open(dir)
  await writer.deliver(delivery(1))
  await writer.deliver(delivery(2, { type: 'ping' }))
  await writer.deliver(delivery(3, { verdict: 'refused', type: null, update_id: null, reason: 'stale' }))
  await writer.close()
  const inbox = Inbox.open(dir)
  expect(ids(inbox, { type: 'ping' })).toEqual(['1-2'])
  expect(ids(inbox, { verdict: 'refused' })).toEqual(['1-3'])
  expect(ids(inbox, { since: 1_800_000_000_002 })).toEqual(['1-2', '1-3'])
})

test('clear removes what is the inbox and nothing else, and nothing at all while somebody writes', async () => {
  const dir = temporaryDir()
  writeFileSync(join(dir, 'notes.txt'), 'mine')
  const writer = InboxWriter.open(dir)
  await writer.deliver(delivery(1))
  expect(clearInbox(dir)).toEqual({ removed: 0, left: 1, bytes: 0, writers: [process.pid] })
  expect(clearBefore(dir, Number.POSITIVE_INFINITY)).toEqual({ removed: 0, left: 1, bytes: 0, writers: [process.pid] })
  expect(Inbox.open(dir).count).toBe(1)
  await writer.close()
  expect(clearInbox(dir)).toMatchObject({ removed: 1, left: 0, bytes: expect.any(Number), writers: [] })
  expect(readdirSync(dir)).toEqual(['notes.txt'])
})

/** Deliveries that arrived at the milliseconds of their ids, each answered at once, in segments of a few each. */
async function aged(dir: string, from: number, to: number) {
  const writer = InboxWriter.open(dir, { segmentBytesMax: 2_000 })
  for (let at = from; at <= to; at++) {
    const id = await writer.deliver(delivery(at, { at }))
    await writer.answer(answer(id, at % 2 === 0 ? 200 : 500, { at }))
  }
  await writer.close()
}

test.each([1, 2, 7, 12, 20, 21])(
  'clear before %i removes what arrived before; the others keep ids, bytes and answers',
  async (time) => {
    const dir = temporaryDir()
    await aged(dir, 1, 20)
    const all = Inbox.open(dir).find({})
    const kept = all.slice(time - 1)
    expect(clearBefore(dir, time)).toMatchObject({ removed: time - 1, left: kept.length, writers: [] })
    const inbox = Inbox.open(dir)
    expect(inbox.find({})).toEqual(kept)
    expect(kept.map((it) => inbox.read(it)?.answers.map(({ status }) => status))).toEqual(
      kept.map(({ at }) => [at % 2 === 0 ? 200 : 500]),
    )
    expect(all.slice(0, time - 1).map(({ id }) => inbox.byId(id))).toEqual(Array(time - 1).fill(undefined))
    // Again, and it is written on: no id comes twice.
    expect(clearBefore(dir, time)).toMatchObject({ removed: 0, bytes: 0 })
    await aged(dir, 21, 24)
    const later = Inbox.open(dir)
    expect(later.find({}).slice(0, kept.length)).toEqual(kept)
    expect(new Set([...all, ...later.find({})].map(({ id }) => id)).size).toBe(24)
    expect(clearBefore(dir, 23)).toMatchObject({ left: 2 })
    expect(
      Inbox.open(dir)
        .find({})
        .map(({ at, status }) => [at, status]),
    ).toEqual([
      [23, 500],
      [24, 200],
    ])
  },
)

test('an index of what was there before a clear is not believed', async () => {
  const dir = temporaryDir()
  const writer = InboxWriter.open(dir)
  for (let at = 1; at <= 4; at++) await writer.deliver(delivery(at, { at, body: Buffer.alloc(200_000, at) }))
  await writer.close()
  Inbox.open(dir)
  copyFileSync(join(dir, '000001.idx'), join(dir, 'old'))
  clearBefore(dir, 2)
  copyFileSync(join(dir, 'old'), join(dir, '000001.idx'))
  expect(ids(Inbox.open(dir))).toEqual(['1-2', '1-3', '1-4'])
  expect(ids(Inbox.open(dir))).toEqual(['1-2', '1-3', '1-4'])
  expect(statSync(join(dir, '000001.seg')).mode & 0o777).toBe(0o600)
})

test('update ids above 2^53 are told apart', async () => {
  const dir = temporaryDir()
  const writer = InboxWriter.open(dir)
  await writer.deliver(delivery(1, { update_id: '9007199254740993' }))
  await writer.deliver(delivery(1, { update_id: '9007199254740995' }))
  await writer.close()
  expect(Inbox.open(dir).byId('9007199254740993')?.id).toBe('1-1')
})

test('an inbox that is not there is empty', () => {
  const dir = temporaryDir()
  rmSync(dir, { recursive: true })
  expect(ids(Inbox.open(dir))).toEqual([])
})
