import process from 'node:process'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { contract, endpoints } from '../../../../src/contract/index.js'
import { run } from '../../../../src/store/operation.js'
import { Sometimes } from '../../../faults/sometimes.js'
import { START_MS } from '../../../support/server/app.js'
import { wireOf } from '../../../support/server/client.js'
import { Difference, type EnginePair, EnginePairs } from './engine-pair.js'
import { RandomCalls } from './random-calls.js'

/**
 * `VOUCHERCTL_ENGINES=1000x200` compares 1,000 seeds of 200 steps and prints how often each state was reached;
 * `VOUCHERCTL_SEED` is the first seed.
 */
const long = process.env.VOUCHERCTL_ENGINES
const [seeds = 15, steps = 60] = (long ?? '').split('x').filter(Boolean).map(Number)
const first = Number(process.env.VOUCHERCTL_SEED ?? 1)
const DIFFERENCES_MAX = 5

/** States that the short form reaches too. */
const usual = [
  ...['issue', 'verify', 'redeem', 'reverse', 'redemption'].map((name) => `vouchers.${name} succeeded`),
  'VOUCHER_ALREADY_REDEEMED',
  'an idempotent call was replayed',
  'an encrypted call succeeded',
  'a poll waited',
]

/** Failure codes that the calls and the clock can provoke. */
const codes = [
  ...['APPLICATION_DISABLED', 'APPLICATION_NOT_FOUND', 'BOT_BLOCKED', 'BOT_DISABLED', 'BOT_NOT_APPROVED'],
  ...['BOT_NOT_FOUND', 'BOT_NOT_LINKED', 'BOT_STATE_CONFLICT', 'CHAT_NOT_FOUND', 'CHAT_NOT_PRIVATE'],
  ...['DELIVERY_NOT_FOUND', 'DELIVERY_NOT_REPLAYABLE', 'DELIVERY_NOT_RETRYABLE', 'EXTERNAL_ISSUE_ID_CONFLICT'],
  ...['EXTERNAL_TEMPLATE_ID_EXISTS', 'FAULT_NOT_FOUND', 'FEATURE_UNAVAILABLE', 'IDEMPOTENCY_KEY_INVALID'],
  ...['IDEMPOTENCY_KEY_REQUIRED', 'IDEMPOTENCY_KEY_REUSED', 'INSUFFICIENT_SCOPE', 'INVALID_JSON'],
  ...['METHOD_NOT_ALLOWED', 'OFFSET_IN_FUTURE', 'PAYLOAD_TOO_LARGE', 'POLLING_ACTIVE', 'POLL_TERMINATED'],
  ...['RECIPIENT_MISMATCH', 'REDEMPTION_ALREADY_REVERSED', 'REDEMPTION_NOT_FOUND', 'REVERSAL_WINDOW_CLOSED'],
  ...['ROUTE_NOT_FOUND', 'SERVICE_UNAVAILABLE', 'SNAPSHOT_NOT_FOUND', 'TEMPLATE_NOT_ACTIVE', 'TEMPLATE_NOT_FOUND'],
  ...['TEMPLATE_QUOTA_EXHAUSTED', 'TEMPLATE_STATE_CONFLICT', 'TEMPLATE_VALIDITY_ENDED', 'TOKEN_EXPIRED'],
  ...['TOKEN_INVALID', 'TOKEN_MISSING', 'TOKEN_REVOKED', 'TOKEN_TYPE_NOT_ACCEPTED', 'UNSUPPORTED_MEDIA_TYPE'],
  ...['USERNAME_TAKEN', 'VALIDATION_FAILED', 'VOUCHER_EXPIRED', 'VOUCHER_NOT_FOUND', 'VOUCHER_NOT_YET_VALID'],
  ...['WEBHOOK_ACTIVE', 'WEBHOOK_URL_REFUSED', 'BOT_ALREADY_LINKED', 'ORIGIN_NOT_ALLOWED', 'TOKEN_NOT_FOUND'],
  'SECURE_TRANSPORT_REQUIRED',
]

/** States that the long form must reach, or it is blind to differences there. */
const required = new Set([
  ...usual,
  ...codes,
  ...endpoints.map(({ id }) => `${id} succeeded`),
  ...['cancelled', 'dead_letter', 'expired', 'reversed', 'suspended'].map((it) => `a response showed the status ${it}`),
  'a second page was read',
  'concurrent calls of two applications took effect',
])

const pairs = new EnginePairs()
beforeAll(() => {
  // A snapshot has the time at which it was saved.
  vi.useFakeTimers({ toFake: ['Date'], now: START_MS })
})
afterAll(async () => {
  vi.useRealTimers()
  await pairs.close()
})

/** Compares the calls and exports of a seed; returns the difference, after the fewest steps that show it. */
async function differenceOf(seed: number, count: number, reached: Sometimes): Promise<Error | null> {
  const compare = (most: number, counting = new Sometimes([])) =>
    pairs
      .run(String(seed), async (pair) => {
        const calls = new RandomCalls(pair, counting)
        await calls.begin()
        for (let step = 0; step < most; step++) await calls.step()
      })
      .then(() => null)
      .catch((error: Error) => error)
  let found = await compare(count, reached)
  if (!(found instanceof Difference) || found.of === 'responses') return found
  // The steps are equal in each run, so a binary search finds the first step after which the exports differ.
  let [equal, different] = [-1, count]
  while (different - equal > 1) {
    const middle = Math.floor((equal + different) / 2)
    const difference = await compare(middle)
    if (difference === null) equal = middle
    else [different, found] = [middle, difference]
  }
  return found
}

it(
  `SQLite and PostgreSQL agree: ${seeds} seeds of ${steps} steps, first ${first}`,
  async () => {
    const reached = new Sometimes([...(long === undefined ? usual : required)])
    const differences: string[] = []
    for (let seed = first; seed < first + seeds && differences.length < DIFFERENCES_MAX; seed++) {
      const difference = await differenceOf(seed, steps, reached)
      if (difference !== null) differences.push(`seed ${seed}, ${difference.stack}`)
    }
    if (long !== undefined) process.stderr.write(`${JSON.stringify(reached.counts(), null, 1)}\n`)
    expect(differences).toEqual([])
    expect(reached.missed()).toEqual([])
  },
  Math.max(120_000, seeds * steps * 50),
)

describe('a pair of servers', () => {
  const clock = wireOf(contract.platform.getClock)
  const readClock = (pair: EnginePair) =>
    pair.send({ ...clock, headers: { authorization: `Bearer ${pair.operatorKey}` } })

  it('a pair of servers with different clocks names the call whose responses differ', async () => {
    const running = pairs.run('clocks', async (pair) => {
      await readClock(pair)
      pair.engines[1].server.clock.advance(1_000)
      await readClock(pair)
    })
    await expect(running).rejects.toThrow(/^call 2, GET \/_platform\/v1\/clock \n.*12:00:00.000Z.*\n.*12:00:01.000Z/)
  })

  it('a pair of servers with different rows names the line of the export and the latest call', async () => {
    const running = pairs.run('rows', async (pair) => {
      await readClock(pair)
      const { store } = pair.engines[0].server.deps
      await store.write(() =>
        run(`insert into bot_calls (bot_id, minute, method, status, code, calls)
        values ('bot', 0, 'getUpdates', 200, '', 1)`),
      )
    })
    await expect(running).rejects.toThrow(/^line \d+ of the export after call 1, GET .*\n.*bot_calls.*\n/)
  })
})
