import { expect, test } from 'vitest'
import {
  type DeadLetter,
  deliverPolled,
  FAST_DELAYS_MS,
  PLATFORM_DELAYS_MS,
  type PolledDeliveryOptions,
} from '../../src/workbench/polled-deliveries.js'
import type { PollOutcome } from '../../src/workbench/polling.js'

const found = (...ids: number[]): PollOutcome<string> => ({
  ok: true,
  updates: ids.map((update_id) => ({ update_id, type: 'ping', created_at: 'T', ping: {} })),
})
const away: PollOutcome<string> = { ok: false, isAway: true, failure: 'No connection.' }
const refused: PollOutcome<string> = { ok: false, isAway: false, failure: 'Refused.' }

interface Deliveries extends Partial<PolledDeliveryOptions<string>> {
  readonly polls: readonly PollOutcome<string>[]
  /** Response status of each delivery attempt in order, null for no response; 200 for further attempts. */
  readonly statuses?: readonly (number | null)[]
  /** The abort signal fires during this delivery attempt, counted from 1. */
  readonly signalAt?: number
}

/**
 * Delivers the updates of polls with these outcomes; the abort signal fires after the last outcome. The calls are
 * `held:OFFSET` and `poll:OFFSET` with and without a hold, `ID:STATUS`, `dead:ID` and `confirm:OFFSET`.
 */
async function delivered({ polls, statuses = [], signalAt, ...options }: Deliveries) {
  const stop = new AbortController()
  const calls: string[] = []
  const notices: string[] = []
  const letters: DeadLetter[] = []
  let polled = 0
  let attempts = 0
  const end = await deliverPolled<string>({
    async poll(from, hold) {
      calls.push(`${hold === 'none' ? 'poll' : 'held'}:${from ?? '-'}`)
      const outcome = polls[polled++]
      if (outcome === undefined) stop.abort()
      return outcome ?? found(999)
    },
    async confirm(before) {
      calls.push(`confirm:${before}`)
      return true
    },
    async deliver({ update_id }) {
      const status = attempts < statuses.length ? (statuses[attempts] as number | null) : 200
      attempts += 1
      calls.push(`${update_id}:${status}`)
      if (attempts === signalAt) stop.abort()
      return { status, error: status === null ? 'ECONNREFUSED' : null, durationMs: 1 }
    },
    async addDeadLetter(letter) {
      letters.push(letter)
      calls.push(`dead:${letter.update_id}`)
      return undefined
    },
    notice: (words) => notices.push(words),
    warn: (words) => notices.push(words),
    inWords: (failure) => failure.replace(/\.$/, ''),
    withSentence: (failure, words) => `${failure} ${words}`,
    signal: stop.signal,
    reconnectMs: [1, 1],
    paceMs: [0],
    asksToHold: true,
    delaysMs: [1],
    attemptsMax: undefined,
    ...options,
  })
  return { calls: calls.join(' '), notices, letters, end }
}

const batch = [found(7, 8, 9)]
const unconfirmed = 'last deliveries could not be confirmed: they come again with the next run.'

test.each<[string, Deliveries, string]>([
  ['the next poll confirms deliveries', { polls: [found(7, 8), found()] }, '7:200 8:200 held:9 held:9'],
  [
    'earlier updates are confirmed while a failed one is retried, and none is skipped',
    { polls: batch, statuses: [200, 500, null, 302, 299] },
    '7:200 8:500 confirm:8 8:null 8:302 8:299 9:200 held:10 confirm:10',
  ],
  [
    'an abort confirms the delivery in flight and starts no other',
    { polls: batch, signalAt: 2 },
    '7:200 8:200 confirm:9',
  ],
  [
    'a delivery that fails after an abort is neither confirmed nor retried',
    { polls: batch, statuses: [200, 500], signalAt: 2 },
    '7:200 8:500 confirm:8',
  ],
  [
    'the update after a dead letter is delivered, and both are confirmed',
    { polls: [found(7, 8)], statuses: [500, null], attemptsMax: 2 },
    '7:500 7:null dead:7 8:200 held:9 confirm:9',
  ],
  [
    'an unreachable server is polled without a hold until it responds',
    { polls: [found(7), away, away, found(8), away, found()] },
    '7:200 held:8 poll:8 poll:8 8:200 held:9 poll:9 held:9',
  ],
])('%s', async (_name, deliveries, calls) => {
  expect(await delivered(deliveries)).toMatchObject({ calls: `poll:- ${calls}`, end: undefined })
})

test('an abort ends a retry delay of an hour immediately', async () => {
  const stop = new AbortController()
  const running = delivered({ polls: batch, statuses: [500], delaysMs: [3_600_000], signal: stop.signal })
  setImmediate(() => stop.abort())
  expect((await running).calls).toBe('poll:- 7:500')
})

test('a dead letter has the last outcome; if it cannot be recorded, the deliveries end', async () => {
  const deliveries = { polls: [found(7, 8)], statuses: [200, null], attemptsMax: 1 }
  const { letters } = await delivered(deliveries)
  const update = { update_id: 8, type: 'ping', created_at: 'T', ping: {} }
  const outcome = { attempts: 1, status: null, error: 'ECONNREFUSED' }
  expect(letters).toEqual([{ update_id: 8, type: 'ping', ...outcome, update }])
  const full = await delivered({ ...deliveries, addDeadLetter: async () => 'Disk full.' })
  expect(full).toMatchObject({ end: 'Disk full.', calls: 'poll:- 7:200 8:null confirm:8' })
})

test('retries wait for each delay in order, then repeat the last one', { tags: 'polled-deliveries/1' }, async () => {
  const { notices } = await delivered({ polls: [found(7)], statuses: [500, 500, 500], delaysMs: [1, 2] })
  expect(notices.map((it) => it.replace('Update 7 failed at attempt ', ''))).toEqual([
    '1; the next one is in 1 ms.',
    '2; the next one is in 2 ms.',
    '3; the next one is in 2 ms.',
  ])
  expect(PLATFORM_DELAYS_MS).toEqual([60_000, 300_000, 900_000, 3_600_000])
  expect([FAST_DELAYS_MS[0], FAST_DELAYS_MS.at(-1)]).toEqual([100, 10_000])
})

test('no poll follows a final failure, because it would end the poll of another process', async () => {
  expect(await delivered({ polls: [refused] })).toMatchObject({ calls: 'poll:-', end: 'Refused.' })
  const later = await delivered({ polls: [found(7), refused] })
  expect(later).toMatchObject({ calls: 'poll:- 7:200 held:8', end: `Refused. The ${unconfirmed}` })
  const gone = await delivered({ polls: [found(7), away, away, away] })
  expect(gone).toMatchObject({ calls: 'poll:- 7:200 held:8 poll:8 poll:8', end: `No connection. The ${unconfirmed}` })
  expect((await delivered({ polls: [found(), away, refused] })).end).toBe('Refused.')
})

test('a failed confirmation of the last deliveries is a warning', async () => {
  const { end, notices } = await delivered({ polls: batch, signalAt: 1, confirm: async () => false })
  expect([end, notices.at(-1)]).toEqual([undefined, `warning: the ${unconfirmed}`])
})
