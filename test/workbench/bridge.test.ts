import { expect, test } from 'vitest'
import type { Update } from '../../src/contract/updates.js'
import type { BridgeLine, BridgeOptions, DeadLetter } from '../../src/workbench/bridge.js'
import { bridge, FAST_DELAYS_MS, PLATFORM_DELAYS_MS } from '../../src/workbench/bridge.js'
import type { Polled } from '../../src/workbench/poll-on.js'

const found = (...ids: number[]): Polled<string> => ({
  ok: true,
  updates: ids.map((update_id) => ({ update_id, type: 'ping', created_at: 'T', ping: {} })),
})
const away: Polled<string> = { ok: false, isAway: true, failure: 'No connection.' }
const refused: Polled<string> = { ok: false, isAway: false, failure: 'Refused.' }

interface Play {
  readonly polls: readonly Polled<string>[]
  /** Of each attempt in order, 200 after the last one. */
  readonly statuses?: readonly (number | null)[]
  readonly options?: Partial<BridgeOptions<string>>
  /** The signal comes during this attempt, from 1. */
  readonly signalAt?: number
}

/** Runs a bridge whose polls end as told; the signal comes after the last one. */
async function play({ polls, statuses = [], options = {}, signalAt }: Play) {
  const stop = new AbortController()
  const story: string[] = []
  const letters: DeadLetter[] = []
  const lines: BridgeLine[] = []
  let polled = 0
  let attempts = 0
  const run = bridge<string>({
    async poll(from, hold) {
      story.push(`poll ${from ?? '-'} ${hold}`)
      const answer = polls[polled++]
      if (answer !== undefined) return answer
      stop.abort()
      return found(999)
    },
    async confirm(before) {
      story.push(`confirm ${before}`)
      return true
    },
    async deliver({ update_id }: Update) {
      const status = attempts < statuses.length ? (statuses[attempts] as number | null) : 200
      attempts += 1
      story.push(`deliver ${update_id}: ${status}`)
      if (attempts === signalAt) stop.abort()
      return { status, error: status === null ? 'ECONNREFUSED' : null, durationMs: 1 }
    },
    async bury(letter) {
      letters.push(letter)
      story.push(`bury ${letter.update_id}`)
      return undefined
    },
    ready: () => story.push('ready'),
    notice: (words) => story.push(words),
    warn: (words) => story.push(words),
    inWords: (failure) => failure.replace(/\.$/, ''),
    adding: (failure, words) => `${failure} ${words}`,
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
    if (next.done) return { story, lines, letters, end: next.value }
    lines.push(next.value)
  }
}

const ending = 'Ending after the delivery in flight.'
const unconfirmed = 'last deliveries could not be confirmed: they come again with the next run.'

test('ready after the first poll, which answers at once; what was delivered is confirmed by the next poll', async () => {
  const { story, end } = await play({ polls: [found(7, 8), found()] })
  expect(end).toBeUndefined()
  expect(story).toEqual([
    'poll - at once',
    'ready',
    'deliver 7: 200',
    'deliver 8: 200',
    'poll 9 as long as it may',
    'poll 9 as long as it may',
  ])
})

test('the offset never passes an update that the app did not take; those before it are confirmed while it waits', async () => {
  const { story, lines } = await play({ polls: [found(7, 8, 9)], statuses: [200, 500, null, 302, 299] })
  expect(story).toEqual([
    'poll - at once',
    'ready',
    'deliver 7: 200',
    'deliver 8: 500',
    'confirm 8',
    'deliver 8: null',
    'deliver 8: 302',
    'deliver 8: 299',
    'deliver 9: 200',
    'poll 10 as long as it may',
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

test('the signal lets the delivery in flight end, confirms it, and begins no other', async () => {
  const { story } = await play({ polls: [found(7, 8, 9)], signalAt: 2 })
  expect(story.slice(2)).toEqual(['deliver 7: 200', 'deliver 8: 200', ending, 'confirm 9'])
})

test('a delivery in flight that fails after the signal is not confirmed and not repeated', async () => {
  const { story } = await play({ polls: [found(7, 8, 9)], statuses: [200, 500], signalAt: 2 })
  expect(story.slice(2)).toEqual(['deliver 7: 200', 'deliver 8: 500', ending, 'confirm 8'])
})

test('the signal ends a wait of an hour at once', async () => {
  const stop = new AbortController()
  const options = { delaysMs: [3_600_000], signal: stop.signal, confirm: async () => true }
  const playing = play({ polls: [found(7)], statuses: [500], options })
  setImmediate(() => stop.abort())
  expect((await playing).lines).toHaveLength(1)
})

test('after so many attempts an update is a dead letter, and the next one follows', async () => {
  const { story, letters, lines } = await play({
    polls: [found(7, 8)],
    statuses: [500, null],
    options: { attemptsMax: 2 },
  })
  expect(story.slice(2)).toEqual([
    'deliver 7: 500',
    'deliver 7: null',
    'bury 7',
    'deliver 8: 200',
    'poll 9 as long as it may',
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

test('a dead letter that cannot be kept ends the bridge, and its update is not confirmed', async () => {
  const options = { attemptsMax: 1, bury: async () => 'Disk full.' }
  const { story, end } = await play({ polls: [found(7, 8)], statuses: [200, 500], options })
  expect([end, story.at(-1)]).toEqual(['Disk full.', 'confirm 8'])
})

test('attempts follow the delays in order, and the last one goes on', async () => {
  const delaysMs = [1, 2, 3]
  const { lines } = await play({ polls: [found(7)], statuses: [500, 500, 500, 500, 500], options: { delaysMs } })
  expect(lines.map(({ retry_in_ms }) => retry_in_ms)).toEqual([1, 2, 3, 3, 3, null])
  expect(PLATFORM_DELAYS_MS).toEqual([60_000, 300_000, 900_000, 3_600_000])
  expect([FAST_DELAYS_MS[0], FAST_DELAYS_MS.at(-1)]).toEqual([100, 10_000])
})

test('a server that is away is tried again, is asked at once whether it is back, and both are said', async () => {
  const { story, end } = await play({ polls: [found(7), away, away, found(8), away, found()] })
  expect(end).toBeUndefined()
  expect(story).toEqual([
    'poll - at once',
    'ready',
    'deliver 7: 200',
    'poll 8 as long as it may',
    'No connection. Trying again.',
    'poll 8 at once',
    'poll 8 at once',
    'Connected again.',
    'deliver 8: 200',
    'poll 9 as long as it may',
    'No connection. Trying again.',
    'poll 9 at once',
    'Connected again.',
    'poll 9 as long as it may',
  ])
})

test('a server that stays away is given up with what it said, and what is not confirmed is told', async () => {
  const { end, story } = await play({ polls: [found(7), away, away, away] })
  expect(end).toBe(`No connection. The ${unconfirmed}`)
  expect(story.filter((it) => it.startsWith('confirm'))).toEqual([])
})

test('a server that never answered, and a refusal, end it at once and without ready', async () => {
  for (const first of [away, refused]) {
    const { story, end } = await play({ polls: [first] })
    expect([story, end]).toEqual([['poll - at once'], first.ok ? '' : first.failure])
  }
})

test('a refusal later on is not answered by another poll: that would end the one which took over', async () => {
  const { story, end } = await play({ polls: [found(7), refused] })
  expect(end).toBe(`Refused. The ${unconfirmed}`)
  expect(story.at(-1)).toBe('poll 8 as long as it may')
})

test('a refusal of a server that was away and is back is what ends it, not the failure before it', async () => {
  const { end } = await play({ polls: [found(), away, refused] })
  expect(end).toBe('Refused.')
})

test('a last confirmation that fails is told', async () => {
  const { story, end } = await play({ polls: [found(7)], signalAt: 1, options: { confirm: async () => false } })
  expect([end, story.at(-1)]).toEqual([undefined, `warning: the ${unconfirmed}`])
})
