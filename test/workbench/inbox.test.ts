import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  clearInbox,
  decodeLine,
  encodeLine,
  Inbox,
  inboxBytes,
  type RecordedDelivery,
  VERSION,
} from '../../src/workbench/inbox.js'
import { InboxWriter } from '../../src/workbench/inbox-writer.js'
import { anyCharacter } from '../support/any-character.js'
import { temporaryDir } from '../support/cli/cli.js'
import { delivery, fileIn, lineStarts, response, writeInbox } from '../support/inbox.js'

const lineOf = (id: string, value: RecordedDelivery) =>
  ({ kind: 'delivery', id, ...value, body_bytes: value.body.length, body_crc: crc32(value.body) }) as const

const refused = (id: number, more: Partial<RecordedDelivery> = {}) =>
  delivery(id, { verdict: 'refused', update_id: null, type: null, reason: 'stale', ...more })

const ids = (inbox: Inbox, filter: Parameters<Inbox['find']>[0] = {}) => inbox.find(filter).map((it) => it.id)

const refusedIn = (dir: string, number = 1) => join(dir, `${String(number).padStart(6, '0')}.refused.ndjson`)

test('an inbox line decodes to the delivery that was encoded, for any bytes in the delivery', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 5_000 }),
      fc.array(fc.string({ unit: fc.integer({ min: 1, max: 255 }).map((it) => String.fromCharCode(it)) })),
      fc.string({ unit: anyCharacter }),
      (bytes, headers, url) => {
        const line = lineOf('1-1', delivery(1, { body: Buffer.from(bytes), headers, url }))
        const text = encodeLine(line).slice(0, -1)
        expect(text).not.toContain('\n')
        expect(decodeLine(Buffer.from(text))).toEqual(line)
      },
    ),
    { seed: 1 },
  )
})

test.each([
  ['is no object', '5'],
  ['has no member but kind', '{"v":1,"kind":"delivery"}'],
  ['has an unknown kind', encodeLine(lineOf('1-1', delivery(1))).replace('"delivery"', '"other"')],
  ['has a name without quotes', encodeLine(lineOf('1-1', delivery(1))).replace('"at"', 'at')],
  ['names no headers', encodeLine(lineOf('1-1', delivery(1))).replace('"headers"', '"header"')],
  ['has a header that is no text', encodeLine(lineOf('1-1', delivery(1))).replace('"localhost"', '5')],
  ['is the response of no URL', encodeLine({ kind: 'response', ...response('1-1', 200, { to: '//' }), body_bytes: 4 })],
])('an inbox line that %s is damaged', (_name, text) => {
  expect(decodeLine(Buffer.from(text.trimEnd()))).toBeUndefined()
})

test('an inbox reports two lines merged by a damaged line end as one damage and skips them', async () => {
  const dir = temporaryDir()
  await writeInbox(dir, [delivery(1), delivery(2), delivery(3)])
  const bytes = readFileSync(fileIn(dir))
  bytes[(lineStarts(bytes)[3] as number) - 1] = 0x0b
  writeFileSync(fileIn(dir), bytes)
  const inbox = new Inbox(dir)
  expect(inbox.find({}).map(({ id, status }) => [id, status])).toEqual([
    ['1-1', 200],
    ['1-3', 200],
  ])
  expect(inbox.damage).toEqual([{ path: fileIn(dir), line: 3 }])
})

test('an inbox reader skips megabytes of garbage after the last line', async () => {
  const dir = temporaryDir()
  await writeInbox(dir, [delivery(1)])
  appendFileSync(fileIn(dir), Buffer.alloc(9_000_000, 7))
  expect(new Inbox(dir).count).toBe(1)
  appendFileSync(fileIn(dir), `\n${encodeLine(lineOf('1-2', delivery(2)))}`)
  const inbox = new Inbox(dir)
  expect([ids(inbox), inbox.damage]).toEqual([['1-1', '1-2'], [{ path: fileIn(dir), line: 3 }]])
})

test.each([
  ['another program', '{"level":"info","message":"started"}\n', /000001\.ndjson is not an inbox file of voucherctl\.$/],
  ['another version', `{"v":${VERSION + 1}}\n`, /has the inbox format 2; .* reads 1\.$/],
])('every use of an inbox refuses a file of %s', { tags: 'inbox-files/3' }, (_name, text, message) => {
  const dir = temporaryDir()
  writeFileSync(fileIn(dir), text)
  for (const use of [() => new Inbox(dir), () => new InboxWriter(dir), () => clearInbox(dir)]) {
    expect(use).toThrow(expect.objectContaining({ code: 'INBOX_FORMAT', message: expect.stringMatching(message) }))
  }
  expect(readdirSync(dir)).toEqual(['000001.ndjson'])
  expect(readFileSync(fileIn(dir), 'utf8')).toBe(text)
})

test('an inbox is usable after a power failure left zeros of the first line of a file', async () => {
  const dir = temporaryDir()
  writeFileSync(fileIn(dir), '\0'.repeat(700))
  await writeInbox(dir, [delivery(1)])
  expect(ids(new Inbox(dir))).toEqual(['2-1'])
})

test('an inbox reader immediately returns written deliveries with responses, by ascending id', async () => {
  const dir = temporaryDir()
  const writer = new InboxWriter(dir)
  const given = await Promise.all([1, 2, 3].map((id) => writer.recordDelivery(delivery(id))))
  expect(given).toEqual(['1-1', '1-2', '1-3'])
  await writer.recordResponse(response('1-2', 500, { body: Buffer.alloc(70_000, 'x') }))
  await writer.recordResponse(response('1-2', 200, { at: 1_800_000_002_000, replay: true }))
  const inbox = new Inbox(dir)
  expect(ids(inbox)).toEqual(given)
  expect(inbox.find({}, 2).map(({ id, status, to }) => [id, status, to])).toEqual([
    ['1-2', 200, 'http://localhost:3000/'],
    ['1-3', undefined, null],
  ])
  expect(inbox.read('1-2')).toEqual({
    ...lineOf('1-2', delivery(2)),
    responses: [
      { kind: 'response', ...response('1-2', 500), body: Buffer.alloc(65_536, 'x'), body_bytes: 70_000 },
      { kind: 'response', ...response('1-2', 200), at: 1_800_000_002_000, replay: true, body_bytes: 4 },
    ],
  })
  expect(inbox.byId('3')?.id).toBe('1-3')
  expect([inbox.byId('1-4'), inbox.byId('9'), inbox.byId('1-0'), inbox.byId('x')]).toEqual(Array(4).fill(undefined))
  await writer.close()
})

test('the folder of an inbox has mode 0700 and each of its files mode 0600', { tags: 'inbox-files/1' }, async () => {
  const dir = join(temporaryDir(), 'a', 'inbox')
  const writer = new InboxWriter(dir)
  await writer.recordDelivery(delivery(1))
  await writer.recordDelivery(refused(2))
  expect(statSync(dir).mode & 0o777).toBe(0o700)
  const names = readdirSync(dir).sort()
  expect(names).toEqual(['000001.ndjson', '000001.refused.ndjson'])
  for (const name of names) expect(statSync(join(dir, name)).mode & 0o777).toBe(0o600)
  await writer.close()
  clearInbox(dir, 1_800_000_000_002)
  for (const name of readdirSync(dir)) expect(statSync(join(dir, name)).mode & 0o777).toBe(0o600)
})

test('two inbox writers use separate files, also one without deliveries', { tags: 'inbox-files/1' }, async () => {
  const dir = temporaryDir()
  const [one, other, third] = [new InboxWriter(dir), new InboxWriter(dir), new InboxWriter(dir)]
  const given = [await one.recordDelivery(delivery(1)), await other.recordDelivery(delivery(2))]
  expect(given).toEqual(['1-1', '2-1'])
  await other.recordResponse(response('1-1', 200, { replay: true }))
  await Promise.all([one.close(), other.close(), third.close()])
  expect(readdirSync(dir).sort()).toEqual(['000001.ndjson', '000002.ndjson', '000003.ndjson'])
  const inbox = new Inbox(dir)
  expect(inbox.find({}).map(({ id, status, to }) => [id, status, to])).toEqual([
    ['1-1', 200, null],
    ['2-1', undefined, null],
  ])
  expect(inbox.read('1-1')?.responses).toHaveLength(1)
})

test('an inbox writer keeps refused deliveries in a file with a limit', { tags: 'refused-deliveries/1' }, async () => {
  const dir = temporaryDir()
  const writer = new InboxWriter(dir, { deliveries: 3, bytes: 10_000 })
  const verdicts = { verdicts: ['refused'] as const }
  await writer.recordDelivery(delivery(1))
  for (let at = 2; at <= 5; at++) await writer.recordDelivery(refused(at))
  expect(ids(new Inbox(dir))).toEqual(['1-1', '1-5'])
  await writer.recordDelivery(refused(6, { body: Buffer.alloc(9_000) }))
  expect(ids(new Inbox(dir), verdicts)).toEqual(['1-6'])
  await writer.recordDelivery(delivery(7))
  expect(ids(new Inbox(dir))).toEqual(['1-1', '1-6', '1-7'])
  await writer.close()
  expect(readFileSync(fileIn(dir), 'utf8')).not.toContain('refused')
})

test('an inbox writer removes the oldest files of refused deliveries above the byte limit', async () => {
  const dir = temporaryDir()
  const bounds = { deliveries: 10, bytes: 10_000 }
  for (let at = 1; at <= 4; at++) {
    const writer = new InboxWriter(dir, bounds)
    await writer.recordDelivery(refused(at, { body: Buffer.alloc(3_000) }))
    await writer.close()
  }
  await new InboxWriter(dir, bounds).close()
  expect(ids(new Inbox(dir))).toEqual(['3-1', '4-1'])
  expect(existsSync(refusedIn(dir, 1))).toBe(false)
})

test('a delivery is failed until it or a repeat of it gets a 2xx', { tags: 'replay-of-deliveries/1' }, async () => {
  const dir = temporaryDir()
  const writer = new InboxWriter(dir)
  const put = async (value: RecordedDelivery, ...statuses: (number | null)[]) => {
    const id = await writer.recordDelivery(value)
    for (const status of statuses) await writer.recordResponse(response(id, status))
    return id
  }
  await put(delivery(1), 200)
  const failed = await put(delivery(2), 502)
  await put(delivery(3), 500)
  await put(delivery(3), 204)
  await put(delivery(4), 500, 200)
  const silent = await put(delivery(5), null)
  const withoutResponse = await put(delivery(6))
  await put(refused(7))
  await put(delivery(2, { body: Buffer.from('{"update_id":2 }') }), 200)
  await put(delivery(8), 500)
  const failedTwice = await put(delivery(8), 503)
  await put(delivery(2, { verdict: 'duplicate' }), 502)
  await writer.close()
  expect(ids(new Inbox(dir), { failed: true })).toEqual([failed, silent, withoutResponse, failedTwice])
})

test('Inbox.find filters deliveries by type, verdict and time', async () => {
  const dir = temporaryDir()
  const writer = new InboxWriter(dir)
  await writer.recordDelivery(delivery(1))
  await writer.recordDelivery(delivery(2, { type: 'ping' }))
  await writer.recordDelivery(refused(3))
  await writer.close()
  const inbox = new Inbox(dir)
  expect(ids(inbox, { type: 'ping' })).toEqual(['1-2'])
  expect(ids(inbox, { verdicts: ['refused'] })).toEqual(['1-3'])
  expect(ids(inbox, { since: 1_800_000_000_002 })).toEqual(['1-2', '1-3'])
})

test('clearInbox() removes only inbox files, and leaves the last one empty', async () => {
  const dir = temporaryDir()
  writeFileSync(join(dir, 'notes.txt'), 'mine')
  await writeInbox(dir, [delivery(1)])
  await writeInbox(dir, [delivery(2), refused(3)])
  appendFileSync(fileIn(dir), 'damaged\n')
  expect(clearInbox(dir)).toEqual({ removed: 3, left: 0, bytes: expect.any(Number) })
  expect(readdirSync(dir).every((name) => /^000002\.|^notes/.test(name))).toBe(true)
  expect([inboxBytes(dir), new Inbox(dir).damage]).toEqual([0, []])
  await writeInbox(dir, [delivery(4)])
  expect(ids(new Inbox(dir))).toEqual(['3-1'])
  clearInbox(dir)
  expect(readdirSync(dir).filter((name) => name.startsWith('000002'))).toEqual([])
})

test.each([
  ['without a time', undefined, []],
  ['before a time', 1_800_000_000_002, ['1-2']],
])('clearInbox() %s keeps later deliveries, with new ids', { tags: 'inbox-files/3' }, async (_name, before, kept) => {
  const dir = temporaryDir()
  const [writer, idle] = [new InboxWriter(dir), new InboxWriter(dir)]
  await writer.recordDelivery(delivery(1))
  const second = await writer.recordDelivery(delivery(2))
  expect(clearInbox(dir, before)).toMatchObject({ removed: 2 - kept.length, left: kept.length })
  await writer.recordResponse(response(second, 200))
  expect(await writer.recordDelivery(delivery(3))).toBe('1-3')
  expect(await idle.recordDelivery(delivery(4))).toBe('2-1')
  expect(clearInbox(dir, 1_800_000_000_002)).toMatchObject({ removed: 0 })
  await Promise.all([writer.close(), idle.close()])
  const inbox = new Inbox(dir)
  expect(ids(inbox)).toEqual([...kept, '1-3', '2-1'])
  expect(kept.map((id) => inbox.byId(id)?.status)).toEqual(kept.map(() => 200))
  await writeInbox(dir, [delivery(5)])
  expect(ids(new Inbox(dir)).at(-1)).toBe('3-1')
})

/** Records deliveries that arrived at times `from` to `to`, each with a response, five per file. */
async function recordAt(dir: string, from: number, to: number) {
  for (let first = from; first <= to; first += 5) {
    const writer = new InboxWriter(dir)
    for (let at = first; at <= Math.min(to, first + 4); at++) {
      const id = await writer.recordDelivery(delivery(at, { at }))
      await writer.recordResponse(response(id, at % 2 === 0 ? 200 : 500, { at }))
    }
    await writer.close()
  }
}

const listed = (dir: string) =>
  new Inbox(dir).find({}).map(({ id, at, status, body_bytes }) => ({ id, at, status, body_bytes }))

test.each([1, 2, 7, 12, 20, 21])(
  'clearInbox() before time %i removes earlier deliveries and leaves the others unchanged',
  { tags: 'inbox-files/3' },
  async (time) => {
    const dir = temporaryDir()
    await recordAt(dir, 1, 20)
    const all = listed(dir)
    const kept = all.slice(time - 1)
    expect(clearInbox(dir, time)).toMatchObject({ removed: time - 1, left: kept.length })
    const inbox = new Inbox(dir)
    expect(listed(dir)).toEqual(kept)
    expect(kept.map((it) => inbox.read(it.id)?.responses.map(({ status }) => status))).toEqual(
      kept.map(({ at }) => [at % 2 === 0 ? 200 : 500]),
    )
    expect(all.slice(0, time - 1).map(({ id }) => inbox.byId(id))).toEqual(Array(time - 1).fill(undefined))
    // Deliveries that are recorded after clearInbox() must not reuse an id.
    expect(clearInbox(dir, time)).toMatchObject({ removed: 0, bytes: 0 })
    await recordAt(dir, 21, 24)
    const later = listed(dir)
    expect(later.slice(0, kept.length)).toEqual(kept)
    expect(new Set([...all, ...later].map(({ id }) => id)).size).toBe(24)
    expect(clearInbox(dir, 23)).toMatchObject({ left: 2 })
    expect(new Inbox(dir).find({}).map(({ at, status }) => [at, status])).toEqual([
      [23, 500],
      [24, 200],
    ])
  },
)

test('clearInbox() with a time does not remove a damaged line', async () => {
  const dir = temporaryDir()
  await recordAt(dir, 1, 4)
  const bytes = readFileSync(fileIn(dir))
  const start = lineStarts(bytes)[0] as number
  bytes[start + 2] = 0x22
  writeFileSync(fileIn(dir), bytes)
  const damaged = bytes.subarray(start, bytes.indexOf(10, start))
  expect(clearInbox(dir, 4)).toMatchObject({ removed: 2, left: 1 })
  const [left] = new Inbox(dir).damage
  expect(readFileSync(left?.path ?? '').includes(damaged)).toBe(true)
})

test('Inbox.byId distinguishes update_ids above 2^53', async () => {
  const dir = temporaryDir()
  const writer = new InboxWriter(dir)
  await writer.recordDelivery(delivery(1, { update_id: '9007199254740993' }))
  await writer.recordDelivery(delivery(1, { update_id: '9007199254740995' }))
  await writer.close()
  expect(new Inbox(dir).byId('9007199254740993')?.id).toBe('1-1')
})

test('an inbox whose folder is missing is empty', () => {
  const dir = temporaryDir()
  rmSync(dir, { recursive: true })
  expect(ids(new Inbox(dir))).toEqual([])
})
