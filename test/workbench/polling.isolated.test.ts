import { afterEach, expect, test, vi } from 'vitest'
import { pause } from '../../src/workbench/pause.js'
import type { PollingOptions, PollOutcome } from '../../src/workbench/polling.js'
import { pollUpdates } from '../../src/workbench/polling.js'

vi.mock('../../src/workbench/pause.js', () => ({ pause: vi.fn(async () => {}) }))
afterEach(() => void vi.restoreAllMocks())

const updates = (...ids: number[]): PollOutcome<string> => ({
  ok: true,
  updates: ids.map((update_id) => ({ update_id, type: 'ping', created_at: 'T', ping: {} })),
})

/** Runs polls of the given durations and aborts after the last one. */
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
  const lines = pollUpdates<string, never>(polling, position, async function* () {
    return undefined
  })
  await lines.next()
  return { pauses: paused.mock.calls.map(([ms]) => ms), notices }
}

const first: [number, PollOutcome<string>] = [0, updates()]

test('polls that return empty immediately slow down, with one notice', async () => {
  const { pauses, notices } = await run([first, [0, updates()], [300, updates()], [0, updates()], [0, updates()]])
  expect(pauses).toEqual([1_000, 1_700, 4_000, 4_000])
  expect(notices).toEqual(['The server does not hold polls: updates may come some seconds late.'])
})

test('an update or a held poll resets the poll interval', async () => {
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

test('polls that the server holds are followed by the next poll without a pause', async () => {
  expect(await run([first, [50_000, updates()], [1_000, updates()]])).toEqual({ pauses: [], notices: [] })
})

test('polls with asksToHold false slow down without a notice', async () => {
  const { pauses, notices } = await run([first, [0, updates()], [0, updates()]], { asksToHold: false })
  expect([pauses, notices]).toEqual([[1_000, 2_000], []])
})
