import { expect, test } from 'vitest'
import type { Update } from '../../src/contract/updates.js'
import {
  type BridgeLine,
  type BridgeOptions,
  bridge,
  type DeadLetter,
  FAST_DELAYS_MS,
  PLATFORM_DELAYS_MS,
} from '../../src/workbench/bridge.js'
import type { PollOutcome } from '../../src/workbench/polling.js'

const found = (...ids: number[]): PollOutcome<string> => ({
  ok: true,
  updates: ids.map((update_id) => ({ update_id, type: 'ping', created_at: 'T', ping: {} })),
})
const away: PollOutcome<string> = { ok: false, isAway: true, failure: 'No connection.' }
const refused: PollOutcome<string> = { ok: false, isAway: false, failure: 'Refused.' }

interface BridgeRun {
  readonly polls: readonly PollOutcome<string>[]
  /** Response status of each delivery attempt in order, null for no response; 200 for further attempts. */
  readonly statuses?: readonly (number | null)[]
  readonly options?: Partial<BridgeOptions<string>>
  /** The abort signal fires during this delivery attempt, counted from 1. */
  readonly signalAt?: number
}

/** Runs a bridge whose polls return these outcomes; the abort signal fires after the last outcome. */
async function runBridge({ polls, statuses = [], options = {}, signalAt }: BridgeRun) {
  const stop = new AbortController()
  const calls: string[] = []
  const letters: DeadLetter[] = []
  const lines: BridgeLine[] = []
  let polled = 0
  let attempts = 0
  const run = bridge<string>({
    async poll(from, hold) {
      calls.push(`poll ${from ?? '-'} ${hold}`)
      const outcome = polls[polled++]
      if (outcome !== undefined) return outcome
      stop.abort()
      return found(999)
    },
    async confirm(before) {
      calls.push(`confirm ${before}`)
      return true
    },
    async deliver({ update_id }: Update) {
      const status = attempts < statuses.length ? (statuses[attempts] as number | null) : 200
      attempts += 1
      calls.push(`deliver ${update_id}: ${status}`)
      if (attempts === signalAt) stop.abort()
      return { status, error: status === null ? 'ECONNREFUSED' : null, durationMs: 1 }
    },
    async addDeadLetter(letter) {
      letters.push(letter)
      calls.push(`addDeadLetter ${letter.update_id}`)
      return undefined
    },
    ready: () => calls.push('ready'),
    notice: (words) => calls.push(words),
    warn: (words) => calls.push(words),
    inWords: (failure) => failure.replace(/\.$/, ''),
    withSentence: (failure, words) => `${failure} ${words}`,
    now: () => 0,
    signal: stop.signal,
    reconnectMs: [1, 1],
    paceMs: [0],
    asksToHold: true,
    delaysMs: [1],
    attemptsMax: undefined,
    ...options,
  })
  for (;;) {
    const next = await run.next()
    if (next.done) return { calls, lines, letters, end: next.value }
    if ('update_id' in next.value) lines.push(next.value)
    else calls.push(next.value.outcome)
  }
}

const ending = 'Ending after the delivery in flight.'
const unconfirmed = 'last deliveries could not be confirmed: they come again with the next run.'

test('the bridge is ready after a first poll without hold; the next poll confirms its deliveries', async () => {
  const { calls, end } = await runBridge({ polls: [found(7, 8), found()] })
  expect(end).toBeUndefined()
  expect(calls).toEqual([
    'poll - none',
    'ready',
    'deliver 7: 200',
    'deliver 8: 200',
    'poll 9 longest',
    'poll 9 longest',
  ])
})

test('the bridge confirms earlier updates while it retries a failed update, and skips none', async () => {
  const { calls, lines } = await runBridge({ polls: [found(7, 8, 9)], statuses: [200, 500, null, 302, 299] })
  expect(calls).toEqual([
    'poll - none',
    'ready',
    'deliver 7: 200',
    'deliver 8: 500',
    'confirm 8',
    'deliver 8: null',
    'deliver 8: 302',
    'deliver 8: 299',
    'deliver 9: 200',
    'poll 10 longest',
    'confirm 10',
  ])
  expect(lines.map(({ attempt, outcome, retry_in_ms }) => [attempt, outcome, retry_in_ms])).toEqual([
    [1, 'delivered', null],
    [1, 'failed', 1],
    [2, 'failed', 1],
    [3, 'failed', 1],
    [4, 'delivered', null],
    [1, 'delivered', null],
  ])
})

test('the bridge completes and confirms the delivery in flight at an abort and starts no other', async () => {
  const { calls } = await runBridge({ polls: [found(7, 8, 9)], signalAt: 2 })
  expect(calls.slice(2)).toEqual(['deliver 7: 200', 'deliver 8: 200', ending, 'confirm 9'])
})

test('the bridge neither confirms nor retries a delivery that fails after an abort', async () => {
  const { calls } = await runBridge({ polls: [found(7, 8, 9)], statuses: [200, 500], signalAt: 2 })
  expect(calls.slice(2)).toEqual(['deliver 7: 200', 'deliver 8: 500', ending, 'confirm 8'])
})

test('the bridge stops immediately at an abort during a retry delay of an hour', async () => {
  const stop = new AbortController()
  const options = { delaysMs: [3_600_000], signal: stop.signal, confirm: async () => true }
  const running = runBridge({ polls: [found(7)], statuses: [500], options })
  setImmediate(() => stop.abort())
  expect((await running).lines).toHaveLength(1)
})

test('the bridge records a dead letter after attemptsMax attempts and delivers the next update', async () => {
  const { calls, letters, lines } = await runBridge({
    polls: [found(7, 8)],
    statuses: [500, null],
    options: { attemptsMax: 2 },
  })
  expect(calls.slice(2)).toEqual([
    'deliver 7: 500',
    'deliver 7: null',
    'addDeadLetter 7',
    'deliver 8: 200',
    'poll 9 longest',
    'confirm 9',
  ])
  expect(lines.map(({ outcome }) => outcome)).toEqual(['failed', 'dead_letter', 'delivered'])
  expect(letters).toEqual([
    {
      time: '1970-01-01T00:00:00.000Z',
      update_id: 7,
      type: 'ping',
      attempts: 2,
      status: null,
      error: 'ECONNREFUSED',
      update: { update_id: 7, type: 'ping', created_at: 'T', ping: {} },
    },
  ])
})

test('the bridge stops without confirming an update if it cannot record the dead letter', async () => {
  const options = { attemptsMax: 1, addDeadLetter: async () => 'Disk full.' }
  const { calls, end } = await runBridge({ polls: [found(7, 8)], statuses: [200, 500], options })
  expect([end, calls.at(-1)]).toEqual(['Disk full.', 'confirm 8'])
})

test('the bridge waits for each retry delay in order and then repeats the last delay', async () => {
  const delaysMs = [1, 2, 3]
  const { lines } = await runBridge({ polls: [found(7)], statuses: [500, 500, 500, 500, 500], options: { delaysMs } })
  expect(lines.map(({ retry_in_ms }) => retry_in_ms)).toEqual([1, 2, 3, 3, 3, null])
  expect(PLATFORM_DELAYS_MS).toEqual([60_000, 300_000, 900_000, 3_600_000])
  expect([FAST_DELAYS_MS[0], FAST_DELAYS_MS.at(-1)]).toEqual([100, 10_000])
})

test('the bridge polls an unreachable server without hold and prints when it reconnects', async () => {
  const { calls, end } = await runBridge({ polls: [found(7), away, away, found(8), away, found()] })
  expect(end).toBeUndefined()
  expect(calls).toEqual([
    'poll - none',
    'ready',
    'deliver 7: 200',
    'poll 8 longest',
    'disconnected',
    'poll 8 none',
    'poll 8 none',
    'reconnected',
    'deliver 8: 200',
    'poll 9 longest',
    'disconnected',
    'poll 9 none',
    'reconnected',
    'poll 9 longest',
  ])
})

test('the bridge stops if the server stays unreachable and reports unconfirmed deliveries', async () => {
  const { end, calls } = await runBridge({ polls: [found(7), away, away, away] })
  expect(end).toBe(`No connection. The ${unconfirmed}`)
  expect(calls.filter((it) => it.startsWith('confirm'))).toEqual([])
})

test('the bridge stops and never reports ready if its first poll fails or is refused', async () => {
  for (const first of [away, refused]) {
    const { calls, end } = await runBridge({ polls: [first] })
    expect([calls, end]).toEqual([['poll - none'], first.ok ? '' : first.failure])
  }
})

test('the bridge sends no poll after a refused poll, because it would end another poller', async () => {
  const { calls, end } = await runBridge({ polls: [found(7), refused] })
  expect(end).toBe(`Refused. The ${unconfirmed}`)
  expect(calls.at(-1)).toBe('poll 8 longest')
})

test('the bridge returns a refusal, not the connection failure that preceded the refusal', async () => {
  const { end } = await runBridge({ polls: [found(), away, refused] })
  expect(end).toBe('Refused.')
})

test('the bridge warns if it cannot confirm the last deliveries', async () => {
  const { calls, end } = await runBridge({ polls: [found(7)], signalAt: 1, options: { confirm: async () => false } })
  expect([end, calls.at(-1)]).toEqual([undefined, `warning: the ${unconfirmed}`])
})
