import { expect, test } from 'vitest'
import { type PollResult, polledOf } from '../../../../src/cli/commands/bots/polling.js'
import { type FollowOptions, follow } from '../../../../src/cli/commands/bots/updates.js'
import { exitOf } from '../../../../src/cli/failures/codes.js'
import { fail } from '../../../../src/cli/failures/failure.js'
import type { Update } from '../../../../src/contract/updates.js'

const found = (...ids: number[]): PollResult => ({
  ok: true,
  data: { items: ids.map((update_id) => ({ update_id, type: 'ping', created_at: 'T', ping: {} })) },
})
const away = fail('NETWORK_ERROR', 'No connection')

/** Runs `follow` with polls that return the given results in order and aborts it after the last result. */
async function followPolls(polls: readonly PollResult[], given: Partial<FollowOptions> & { offset?: number } = {}) {
  const stop = new AbortController()
  const asked: (number | undefined)[] = []
  const confirmed: number[] = []
  const said: string[] = []
  const following: FollowOptions = {
    async poll(from) {
      const polled = polls[asked.push(from) - 1]
      if (polled !== undefined) return polled
      stop.abort()
      return found()
    },
    async confirm(before) {
      confirmed.push(before)
      return found()
    },
    notice: (text) => said.push(text),
    warn: (text) => said.push(text),
    signal: stop.signal,
    reconnectMs: [1, 1],
    paceMs: [0],
    asksToHold: true,
    ...given,
  }
  const printed: number[] = []
  const updates = follow(following, given.offset)
  for (;;) {
    const next: IteratorResult<Update, unknown> = await updates.next()
    if (next.done) return { printed, asked, confirmed, said, end: next.value as ReturnType<typeof fail> | undefined }
    printed.push(next.value.update_id)
  }
}

test('follow() confirms the yielded updates when aborted, unless a poll has confirmed them', async () => {
  expect(await followPolls([found(7, 8)])).toMatchObject({ printed: [7, 8], asked: [undefined, 9], confirmed: [9] })
  expect(await followPolls([found(7), found()])).toMatchObject({ asked: [undefined, 8, 8], confirmed: [] })
  expect(await followPolls([found()])).toMatchObject({ confirmed: [] })
})

test('follow() warns with the next offset if it cannot confirm the last updates', async () => {
  const { said, end } = await followPolls([found(7)], { confirm: async () => away })
  expect([said.length, end]).toEqual([1, undefined])
  expect(said[0]).toContain('--offset 8')
})

test('follow() polls an unreachable server with the same offset until the server responds', async () => {
  const { asked, printed, said } = await followPolls([found(7), away, fail('BASE_URL_REQUIRED', 'No server'), found(8)])
  expect([printed, asked]).toEqual([
    [7, 8],
    [undefined, 8, 8, 8, 9],
  ])
  expect(said).toEqual(['No connection. Trying again.', 'Connected again.'])
})

test('follow() returns the first failure with the next offset if the server stays unreachable', async () => {
  const { end, asked } = await followPolls([found(7), away, fail('BASE_URL_REQUIRED', 'No server'), away])
  expect([end && exitOf(end), end?.message, end?.details, asked.length]).toEqual([
    9,
    'No connection',
    { next_offset: 8 },
    4,
  ])
})

test('follow() fails without a retry if its first poll fails or the server refuses a later poll', async () => {
  expect(await followPolls([away])).toMatchObject({ end: away, asked: [undefined] })
  const refused = { ...away, code: 'TOKEN_REVOKED', status: 401 }
  expect((await followPolls([found(), refused])).end).toEqual(refused)
})

test.each([
  [
    'restarts its reconnect delays after each successful poll',
    [found(1), away, away, found(2), away, away, found(3)],
    {},
    { printed: [1, 2, 3] },
  ],
  [
    'sends a negative offset only once, since a second one would drop new updates',
    [found(), found(7)],
    { offset: -3 },
    { asked: [-3, undefined, 8] },
  ],
  [
    'accepts any first id after a negative offset, and gaps between ids',
    [found(7, 9, 100)],
    { offset: -3 },
    { printed: [7, 9, 100] },
  ],
] as const)('follow() %s', async (_what, polls, given, expected) => {
  expect(await followPolls(polls, given)).toMatchObject(expected)
})

test.each([
  ['is above 2^53', [9_007_199_254_740_992], 'data.items[0].update_id is not an integer below 2^53 - 1'],
  ['is negative', [-5], 'data.items[0].update_id is negative'],
  ['is missing', [8, undefined], 'data.items[1].update_id is not an integer below 2^53 - 1'],
  ['is a text', [8, '9'], 'data.items[1].update_id is not an integer below 2^53 - 1'],
  ['is a fraction', [8.5], 'data.items[0].update_id is not an integer below 2^53 - 1'],
  ['was confirmed before', [7], 'data.items[0].update_id is below 8'],
  ['comes after a higher one', [9, 8], 'data.items[1].update_id is below 10'],
])(
  'follow() yields nothing and fails with exit code 9 if an update_id %s',
  { tags: 'update-ids/1' },
  async (_name, ids, words) => {
    const malformed = { ok: true, data: { items: ids.map((update_id) => ({ update_id, type: 'ping' })) } }
    const { end, printed, asked, confirmed } = await followPolls([found(7), malformed as unknown as PollResult])
    expect([end && exitOf(end), end?.code, printed, asked, confirmed]).toEqual([
      9,
      'INVALID_RESPONSE',
      [7],
      [undefined, 8],
      [],
    ])
    expect(end?.message).toContain(`Not a response of a voucher service: ${words}`)
    expect(end?.details).toEqual({ next_offset: 8 })
  },
)

test('follow() returns a failure if an item of a poll response is not an object', async () => {
  const { end } = await followPolls([{ ok: true, data: { items: [null] } } as unknown as PollResult])
  expect(end?.message).toContain('data.items[0].update_id')
})

test.each([
  ['BASE_URL_REQUIRED', true],
  ['NETWORK_ERROR', true],
  ['CREDENTIAL_REQUIRED', false],
] as const)('polledOf with the failure %s reports a server that is away: %s', (code, isAway) => {
  expect(polledOf(fail(code, 'No server.'), undefined)).toMatchObject({ ok: false, isAway })
})
