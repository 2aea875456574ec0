import { expect, it, onTestFinished, vi } from 'vitest'
import { LineStream, pieces } from '../../src/inspector/line-stream.js'

const textOf = async (stream: LineStream<number>) => {
  let text = ''
  for await (const chunk of stream) text += String(chunk)
  return text
}

it('line stream that does not follow ends after its items', async () => {
  expect(await textOf(new LineStream([1, 2], false, String))).toBe('1\n2\n')
})

it('line stream that follows writes added items in order and ends with finish()', async () => {
  const stream = new LineStream([1], true, String)
  const text = textOf(stream)
  stream.add(2)
  stream.add(3)
  stream.finish()
  expect(await text).toBe('1\n2\n3\n')
})

it('line stream formats an item only when its reader takes it', () => {
  const formatted: number[] = []
  const stream = new LineStream([1], true, (it) => String(formatted.push(it)))
  stream.add(2)
  expect(formatted).toEqual([])
  stream.destroy()
})

it('line stream closes when 10,000 items are unread', { tags: 'activity/2' }, () => {
  const stream = new LineStream<number>([], true, String)
  for (let item = 0; item < 10_000; item++) stream.add(item)
  expect(stream.destroyed).toBe(false)
  stream.add(10_000)
  expect(stream.destroyed).toBe(true)
})

/** A format that takes 1 ms for each item, and its clock. */
function slowFormat() {
  let ms = 0
  const formatted: number[] = []
  const pass = () => void (ms += 1)
  const format = (it: number) => {
    pass()
    formatted.push(it)
    return 'x'
  }
  return { formatted, format, now: () => ms, pass }
}

it('line stream yields to other work after 2 ms of formatting', async () => {
  const { formatted, format, now } = slowFormat()
  const stream = new LineStream([1, 2, 3, 4, 5], false, format, now)
  stream.resume()
  const seen = new Set<number>()
  while (!stream.closed) {
    await new Promise(setImmediate)
    seen.add(formatted.length)
  }
  expect([...seen]).toEqual([2, 4, 5])
})

it('line stream pauses only while other work makes the turn of the process late', async () => {
  const { formatted, format, now, pass } = slowFormat()
  const stream = new LineStream([1, 2, 3, 4, 5, 6], false, format, now)
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  stream.resume()
  // The stream has taken its first turn, and waits for the next one.
  await Promise.resolve()
  await new Promise<void>((resolve) => process.nextTick(resolve))
  expect(formatted.length).toBe(2)
  pass()
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate)
  expect(formatted.length).toBe(2)
  await vi.advanceTimersByTimeAsync(8)
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate)
  expect([formatted.length, stream.closed]).toEqual([6, true])
})

it('pieces pauses a loop after 2 ms, and rejects when its signal aborts', async () => {
  let now = 0
  const client = new AbortController()
  const done: number[] = []
  const seen = new Set<number>()
  const work = (async () => {
    for await (const it of pieces(client.signal, () => now)([1, 2, 3, 4, 5, 6, 7])) {
      now += 1
      done.push(it)
    }
  })()
  const ended = expect(work).rejects.toThrow('gone')
  while (done.length < 5) {
    await new Promise(setImmediate)
    seen.add(done.length)
  }
  client.abort(new Error('gone'))
  await ended
  expect([[...seen], done.length]).toEqual([[2, 4, 6], 6])
})
