import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { ActivityLine, RequestLogEntry } from '../../../src/contract/platform/activity.js'
import type { MadeAttempt } from '../../../src/server/delivery/attempt-log.js'
import { Activity } from '../../../src/server/observe/activity.js'
import type { CapturedCall } from '../../../src/server/observe/exchange.js'

const entry = (endpoint = 'vouchers.verify', status = 200): RequestLogEntry => ({
  time: '1970-01-01T00:00:00.000Z',
  request_id: 'req_1',
  endpoint,
  method: 'POST',
  path: '/',
  status,
  code: null,
  application_id: 'app_1',
  voucher_id: null,
  replayed: false,
  duration_ms: 1,
})

const captured = (bytes: number): CapturedCall => ({
  route: undefined,
  method: 'POST',
  url: '/',
  rawHeaders: [],
  body: Buffer.alloc(bytes),
  status: 200,
  responseHeaders: {},
  responseBody: null,
})

const attempt: MadeAttempt = {
  ...{ deliveryId: 'dlv_1', updateId: 1, botId: 'bot_1', url: 'https://app.example/', headers: {} },
  ...{ body: Buffer.from('{}'), startedAt: 0, endedAt: 0, attempt: 1, manual: false, replay: false },
  result: { statusCode: 200, error: null, durationMs: 1, response: null },
  secrets: [],
}

async function linesOf(stream: AsyncIterable<unknown>): Promise<ActivityLine[]> {
  let text = ''
  for await (const chunk of stream) text += String(chunk)
  return text.split('\n').flatMap((line) => (line === '' ? [] : (JSON.parse(line) as ActivityLine)))
}

const kept = (activity: Activity, bodies = false) => linesOf(activity.stream({ follow: false, bodies }))

describe('activity', () => {
  it('lists requests and changes in order, each with its number', { tags: 'activity/1' }, async () => {
    const activity = new Activity({ now: () => 0 })
    activity.addRequest(entry(), null)
    activity.changed('clock')
    const at = '1970-01-01T00:00:00.000Z'
    expect(await kept(activity)).toEqual([
      { seq: 1, kind: 'request', request: entry(), exchange: null },
      { seq: 2, kind: 'state', what: 'clock', at },
    ])
  })

  it('activity.lines keeps exchanges evicted meanwhile, for chosen lines only', () => {
    const activity = new Activity({ now: () => 0, inspect: true })
    activity.addRequest({ ...entry(), request_id: 'req_a' }, captured(9))
    activity.addRequest({ ...entry(), request_id: 'req_b' }, captured(9))
    const lines = activity.lines(new Set(['req_b']))
    const first = lines.next().value
    for (let n = 0; n < 3; n++) activity.addRequest(entry(), captured(8 * 1024 * 1024))
    expect([first, ...lines].map((it) => 'exchange' in it && it.exchange !== null)).toEqual([false, true])
    expect([...activity.lines()].slice(0, 2).map((it) => 'exchange' in it && it.exchange)).toEqual([null, null])
  })

  it('activity keeps the last 1,000 lines', { tags: 'activity/1' }, async () => {
    const activity = new Activity({ now: () => 0 })
    for (let n = 0; n < 3_456; n++) activity.addRequest(entry(), null)
    const seqs = (await kept(activity)).map(({ seq }) => seq)
    expect([seqs.length, seqs[0], seqs.at(-1)]).toEqual([1_000, 2_457, 3_456])
  })

  it('activity keeps 1,000 failures that 1,000 later lines would displace', { tags: 'activity/1' }, async () => {
    const activity = new Activity({ now: () => 0, inspect: true })
    for (let n = 1; n <= 9_000; n++) activity.addRequest(entry('vouchers.redeem', n % 8 === 0 ? 409 : 200), captured(1))
    const lines = await kept(activity, true)
    const statuses = lines.map((it) => (it.kind === 'request' ? it.request.status : 0))
    expect(statuses.slice(0, -1_000)).toEqual(Array(1_000).fill(409))
    expect(lines.slice(-1_000).map(({ seq }) => seq)).toEqual(Array.from({ length: 1_000 }, (_, n) => 8_001 + n))
    expect(lines.every((it) => 'exchange' in it && it.exchange !== null)).toBe(true)
  })

  it('activity keeps a failed call that thousands of failed attempts would displace', async () => {
    const activity = new Activity({ now: () => 0 })
    activity.addRequest(entry('vouchers.redeem', 409), null)
    const error = { code: 'connection_refused', message: 'The endpoint refused the connection.' } as const
    const failed = { ...attempt, result: { ...attempt.result, statusCode: null, error } }
    for (let n = 0; n < 9_000; n++) activity.addDelivery(failed)
    const seqs = (await kept(activity)).map(({ seq }) => seq)
    expect([seqs.length, seqs[0], seqs[1]]).toEqual([2_000, 1, 7_003])
  })

  it('activity for a recording has no failures before a gap', async () => {
    const activity = new Activity({ now: () => 0, inspect: true })
    const failed = { ...entry('vouchers.redeem', 409), request_id: 'req_failed' }
    activity.addRequest(failed, captured(1))
    for (let n = 0; n < 1_000; n++) activity.addRequest(entry(), null)
    const named = await linesOf(activity.stream({ follow: false, bodies: true, names: true }))
    expect([named[0]?.seq, [...activity.lines()][0]?.seq]).toEqual([2, 2])
    expect([...activity.lines(new Set(['req_failed']))][0]).toMatchObject({ request: failed, exchange: {} })
  })

  it('activity says to a follower, and only to one, where the stored lines end', { tags: 'activity/1' }, async () => {
    const activity = new Activity({ now: () => 0 })
    activity.addRequest(entry(), null)
    const lines = linesOf(activity.stream({ follow: true, bodies: false }))
    activity.addRequest(entry(), null)
    activity.close()
    expect((await lines).map(({ kind, seq }) => [kind, seq])).toEqual([
      ['request', 1],
      ['live', 1],
      ['request', 2],
    ])
    expect((await kept(activity)).map(({ kind }) => kind)).toEqual(['request', 'request'])
  })

  it.each([
    ['health.live', 'GET'],
    ['page.files', 'GET'],
    ['platform.activity', 'GET'],
    ['platform.openPage', 'POST'],
  ])('activity leaves out %s, which only watches the server', { tags: 'activity/1' }, async (endpoint, method) => {
    const activity = new Activity({ now: () => 0 })
    activity.addRequest({ ...entry(endpoint), method }, null)
    expect(await kept(activity)).toEqual([])
  })

  it.each([
    ['templates.submit', 200, ['request', 'state']],
    ['platform.rejectBot', 200, ['request', 'state']],
    ['platform.rejectBot', 409, ['request']],
    ['vouchers.redeem', 200, ['request']],
  ])('activity tells after %s with status %i whether the reviews changed', async (endpoint, status, kinds) => {
    const activity = new Activity({ now: () => 0 })
    activity.addRequest(entry(endpoint, status), null)
    expect((await kept(activity)).map(({ kind }) => kind)).toEqual(kinds)
  })

  it('activity captures while a follower reads bodies, or from the start with inspect', { tags: 'activity/3' }, () => {
    const activity = new Activity({ now: () => 0 })
    expect([activity.captures(false), new Activity({ now: () => 0, inspect: true }).captures(false)]).toEqual([
      false,
      true,
    ])
    activity.stream({ follow: true, bodies: false })
    activity.stream({ follow: false, bodies: true })
    expect(activity.captures(false)).toBe(false)
    const reader = activity.stream({ follow: true, bodies: true })
    expect(activity.captures(false)).toBe(true)
    return new Promise<void>((resolve) => {
      reader.once('close', () => resolve()).destroy()
    }).then(() => expect(activity.captures(false)).toBe(false))
  })

  it('activity drops the oldest exchanges beyond 16 MiB', { tags: 'activity/3' }, async () => {
    const activity = new Activity({ now: () => 0, inspect: true })
    for (let n = 0; n < 20; n++) activity.addRequest(entry(), captured(1024 * 1024))
    const lines = await kept(activity, true)
    expect(lines.map((it) => 'exchange' in it && it.exchange !== null).indexOf(true)).toBe(5)
    expect((await kept(activity)).every((it) => 'exchange' in it && it.exchange === null)).toBe(true)
  })

  it('activity counts the length of a decrypted body among the 16 MiB', async () => {
    const activity = new Activity({ now: () => 0, inspect: true })
    const body = { json: {}, length: 1024 * 1024 }
    for (let n = 0; n < 20; n++) activity.addRequest(entry(), { ...captured(0), body })
    const lines = await kept(activity, true)
    expect(lines.map((it) => 'exchange' in it && it.exchange !== null).indexOf(true)).toBe(5)
  })

  it('activity keeps the line of a delivery, and not the attempt with its body', async () => {
    const activity = new Activity({ now: () => 0 })
    const made = { ...attempt }
    activity.addDelivery(made)
    Object.assign(made, { deliveryId: 'dlv_2' })
    expect(await kept(activity)).toMatchObject([{ delivery: { delivery_id: 'dlv_1' } }])
  })

  it('activity drops exchanges that a follower has not read when a reset discards them', async () => {
    const activity = new Activity({ now: () => 0, inspect: true })
    const lines = linesOf(activity.stream({ follow: true, bodies: true }))
    activity.addRequest(entry(), captured(8))
    activity.clear('reset')
    activity.close()
    expect(await lines).toMatchObject([{ kind: 'live' }, { kind: 'request', exchange: null }, { what: 'reset' }])
  })

  it('activity sends a burst of 200 lines, then 2 each 100 ms, and counts others', { tags: 'activity/2' }, async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const activity = new Activity({ now: () => 0 })
    const lines = linesOf(activity.stream({ follow: true, bodies: true }))
    for (let n = 0; n < 210; n++) activity.addRequest(entry(), null)
    expect(activity.captures(false)).toBe(false)
    vi.advanceTimersByTime(100)
    expect(activity.captures(false)).toBe(true)
    for (let n = 0; n < 20; n++) activity.addRequest(entry(), null)
    activity.changed('clock')
    activity.close()
    await vi.advanceTimersByTimeAsync(10_000)
    const shown = (await lines).slice(1)
    expect(shown.slice(200, 201)).toEqual([{ seq: 210, kind: 'omitted', count: 10 }])
    expect(shown.slice(203)).toEqual([
      { seq: 230, kind: 'omitted', count: 18 },
      { seq: 231, kind: 'state', what: 'clock', at: '1970-01-01T00:00:00.000Z' },
    ])
  })

  it('activity sends 200 more failures of a burst, and captures them', { tags: 'activity/2' }, async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const activity = new Activity({ now: () => 0, cpuMs: () => 0 })
    const lines = linesOf(activity.stream({ follow: true, bodies: true }))
    for (let n = 0; n < 300; n++) activity.addRequest(entry(), null)
    expect([activity.captures(false), activity.captures(true)]).toEqual([false, true])
    for (let n = 0; n < 201; n++) activity.addRequest(entry('vouchers.redeem', 409), captured(1))
    expect(activity.captures(true)).toBe(false)
    activity.close()
    await vi.advanceTimersByTimeAsync(10_000)
    const failed = (await lines).filter((it) => it.kind === 'request' && it.request.status === 409)
    expect(failed.map((it) => it.seq)).toEqual(Array.from({ length: 200 }, (_, n) => 301 + n))
    expect(failed.every((it) => 'exchange' in it && it.exchange !== null)).toBe(true)
  })

  it('activity sends live lines without exchanges while the time for exchanges is spent', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    let cpuMs = 0
    // Each exchange takes 20 ms of 30: its line is measured by two calls.
    const activity = new Activity({ now: () => 0, inspect: true, cpuMs: () => (cpuMs += 20) })
    activity.addRequest(entry(), captured(8))
    const lines = linesOf(activity.stream({ follow: true, bodies: true }))
    for (let n = 0; n < 4; n++) activity.addRequest(entry(), captured(8))
    await vi.advanceTimersByTimeAsync(100)
    // 10 ms too much were spent, and one comes back in each window: at 1,000 ms nothing is left, at 1,100 ms one.
    for (const pause of [900, 100]) {
      await vi.advanceTimersByTimeAsync(pause)
      activity.addRequest(entry(), captured(8))
    }
    await vi.advanceTimersByTimeAsync(100)
    activity.close()
    const shown = (await lines).flatMap((it) => ('exchange' in it ? it.exchange !== null : []))
    expect(shown).toEqual([true, true, true, false, false, false, true])
  })

  it('activity captures nothing for followers while the time for exchanges is spent', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    let cpuMs = 0
    const activity = new Activity({ now: () => 0, cpuMs: () => (cpuMs += 40) })
    activity.stream({ follow: true, bodies: true }).resume()
    activity.addRequest(entry(), captured(8))
    expect(activity.captures(false)).toBe(true)
    await vi.advanceTimersByTimeAsync(60)
    expect(activity.captures(false)).toBe(false)
    await vi.advanceTimersByTimeAsync(1_100)
    expect(activity.captures(false)).toBe(true)
  })

  it('activity captures each call while a follower reads names of secrets, also in a burst', () => {
    const activity = new Activity({ now: () => 0 })
    const stream = activity.stream({ follow: true, bodies: true, names: true })
    for (let n = 0; n < 300; n += 1) activity.addRequest(entry(), captured(1))
    expect(activity.captures(false)).toBe(true)
    stream.destroy()
    return new Promise((resolve) => {
      stream.once('close', resolve)
    }).then(() => expect(activity.captures(false)).toBe(false))
  })

  it('activity joins changes of one kind that are less than 100 ms apart', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const activity = new Activity({ now: () => 0 })
    activity.stream({ follow: true, bodies: false })
    for (let n = 0; n < 5; n++) activity.changed('faults')
    activity.changed('clock')
    vi.advanceTimersByTime(100)
    vi.useRealTimers()
    const whats = (await kept(activity)).map((it) => 'what' in it && it.what)
    expect(whats).toEqual(['faults', 'clock', 'faults'])
  })

  it('activity discards its lines after a reset, and followers go on', async () => {
    const activity = new Activity({ now: () => 0 })
    activity.addRequest(entry(), null)
    const lines = linesOf(activity.stream({ follow: true, bodies: false }))
    activity.clear('reset')
    activity.addRequest(entry(), null)
    activity.close()
    expect((await lines).map(({ seq, kind }) => [seq, kind])).toEqual([
      [1, 'request'],
      [1, 'live'],
      [2, 'state'],
      [3, 'request'],
    ])
    expect((await kept(activity)).map(({ seq }) => seq)).toEqual([2, 3])
  })

  it('activity ends the stream of a follower that comes after the close', async () => {
    const activity = new Activity({ now: () => 0 })
    activity.close()
    expect(await linesOf(activity.stream({ follow: true, bodies: true }))).toEqual([{ kind: 'live', seq: 0 }])
  })
})
