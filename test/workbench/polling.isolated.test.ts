import { afterEach, expect, test, vi } from 'vitest'
import { pause } from '../../src/files/pause.js'
import { type PollingOptions, type PollOutcome, pollUpdates } from '../../src/workbench/polling.js'

vi.mock('../../src/files/pause.js', () => ({ pause: vi.fn(async () => {}) }))
afterEach(() => void vi.restoreAllMocks())

const updates = (...ids: number[]): PollOutcome<string> => ({
  ok: true,
  updates: ids.map((update_id) => ({ update_id, type: 'ping', created_at: 'T', ping: {} })),
})

/** Runs pollUpdates() with polls of these durations and results, and aborts it after the last poll. */
async function run(
  polls: readonly [ms: number, polled: PollOutcome<string>][],
  options: Partial<PollingOptions<string>> = {},
) {
  const stop = new AbortController()
  const paused = vi.mocked(pause)
  paused.mockClear()
  const notices: string[] = []
  let now = 0
  let polled = 0
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  const polling: PollingOptions<string> = {
    async poll() {
      const [ms, result] = polls[polled++] ?? [0, updates()]
      if (polled > polls.length) stop.abort()
      now += ms
      return result
    },
    notice: (text) => notices.push(text),
    inWords: (failure) => failure,
    signal: stop.signal,
    reconnectMs: [],
    paceMs: [1_000, 2_000, 4_000],
    asksToHold: true,
    ...options,
  }
  const position = { next: undefined, confirmed: undefined, isServerAway: false }
  for await (const _ of pollUpdates(polling, position));
  return { pauses: paused.mock.calls.map(([ms]) => ms), notices }
}

const first: [number, PollOutcome<string>] = [0, updates()]

test('pollUpdates() slows down once polls are not held', { tags: 'polls-that-are-not-held/1' }, async () => {
  const { pauses, notices } = await run([first, [0, updates()], [300, updates()], [0, updates()], [0, updates()]])
  expect(pauses).toEqual([1_000, 1_700, 4_000, 4_000])
  expect(notices).toEqual(['The server does not hold polls: updates may come some seconds late.'])
})

test('pollUpdates() resets its poll interval after an update or a held poll', async () => {
  const { pauses } = await run([
    first,
    [0, updates()],
    [0, updates(7)],
    [0, updates()],
    [2_000, updates()],
    [0, updates()],
  ])
  expect(pauses).toEqual([1_000, 1_000, 1_000])
})

test('pollUpdates() polls again without a pause if the server holds the polls', async () => {
  expect(await run([first, [50_000, updates()], [1_000, updates()]])).toEqual({ pauses: [], notices: [] })
})

test('pollUpdates() with asksToHold false slows down without a notice', async () => {
  const { pauses, notices } = await run([first, [0, updates()], [0, updates()]], { asksToHold: false })
  expect([pauses, notices]).toEqual([[1_000, 2_000], []])
})
