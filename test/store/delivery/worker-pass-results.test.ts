import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LEASE_MS, RETRY_DELAY_MS_MAX } from '../../../src/domain/delivery.js'
import { PROCESS_CLOCK_SKEW_MS_MAX } from '../../../src/domain/time.js'
import type { EndedAttempt } from '../../../src/store/delivery/attempt-results.js'
import { BACKLOG_ROWS_PER_WRITE } from '../../../src/store/delivery/backlog.js'
import { openTestStore } from '../../support/store/engines.js'
import { statementsOf } from '../../support/store/store-steps.js'
import { ended, failure, NOW, SYSTEM_NOW, success, WorkerPasses } from '../../support/webhook/worker-passes.js'

const LEASE_UNTIL = SYSTEM_NOW + LEASE_MS
const ownFailure = { statusCode: null, error: { code: 'aborted', message: 'The server stopped.' }, durationMs: 1 }

let passes: WorkerPasses
beforeEach(() => {
  passes = new WorkerPasses(openTestStore())
})
afterEach(() => passes.store.close())

/** Records results without claims. */
const record = (...results: EndedAttempt[]) => passes.run({ ended: results, room: 0 })
const delivery = async () => (await passes.deliveries())[0]
const pending = async () => (await passes.updates()).map((it) => it.pending)

describe('result of an attempt', () => {
  it('success completes the delivery and its update, and is recorded as an attempt', async () => {
    await passes.plant('bot_1', ['a'])
    await record(ended(await passes.claim(), success))
    expect(await delivery()).toMatchObject({
      status: 'delivered',
      attempt_count: 1,
      manual_attempt_count: 0,
      next_attempt_at: null,
      delivered_at: NOW + 50,
      last_status_code: 200,
      last_error_code: null,
      last_error_message: null,
      last_duration_ms: 5,
      lease_until: null,
    })
    expect(await passes.attempts()).toEqual([
      {
        delivery_id: 'bot_1 1',
        number: 1,
        bot_id: 'bot_1',
        manual: 0,
        started_at: NOW,
        duration_ms: 5,
        status_code: 200,
        error_code: null,
        error_message: null,
        fault: null,
      },
    ])
    expect(await pending()).toEqual([0])
  })

  it('failure schedules the next attempt, and the update stays pending', async () => {
    await passes.plant('bot_1', ['a'])
    await record(ended(await passes.claim(), failure))
    const { code, message } = failure.error ?? {}
    expect(await delivery()).toMatchObject({
      status: 'failed',
      next_attempt_at: NOW + 50 + 60_000,
      last_status_code: 503,
      last_error_code: code,
      last_error_message: message,
    })
    expect(await passes.attempts()).toMatchObject([{ status_code: 503, error_code: code, error_message: message }])
    expect(await pending()).toEqual([1])
  })

  it('fifth failure makes a dead letter, whose update is not pending', { tags: 'webhook-removal/2' }, async () => {
    await passes.plant('bot_1', ['a'])
    await passes.sql('update deliveries set attempt_count = 4')
    await record(ended(await passes.claim(), failure))
    expect((await delivery())?.status).toBe('dead_letter')
    expect(await pending()).toEqual([0])
  })

  it('result of an attempt that holds its lease is written without a read of the delivery', async () => {
    await passes.plant('bot_1', ['a'])
    const result = ended(await passes.claim(), failure)
    const steps = await passes.steps({ ended: [result], bots: new Map(), room: 0 })
    const tables = steps.flatMap(statementsOf).map(({ sql }) => /^(?:update|insert into) (\w+)/.exec(sql)?.[1])
    expect(tables.slice(0, -2)).toEqual(['webhooks', 'deliveries', 'delivery_attempts'])
  })

  it('next delivery of the chat is claimed with the result, also of a bot not due in the pass', async () => {
    await passes.plant('bot_1', ['a', 'a'])
    const result = ended(await passes.claim(), success)
    expect((await passes.run({ ended: [result], bots: new Map() })).begun).toMatchObject([{ updateId: 2 }])
  })

  it('bot of a result keeps its known account', async () => {
    await passes.plant('bot_1', ['a', 'b'])
    const result = ended(await passes.claim(), success)
    const bots = new Map([['bot_1', 'acc']])
    expect((await passes.run({ ended: [result], bots, room: 0 })).waiting).toEqual(bots)
  })
})

describe('result of an attempt that lost its lease', () => {
  const expire = () => passes.run({ lostBefore: LEASE_UNTIL, room: 0 })

  it('late success completes the delivery after the lost attempt', async () => {
    await passes.plant('bot_1', ['a'])
    const attempt = await passes.claim()
    await expire()
    await record(ended(attempt, success))
    expect(await delivery()).toMatchObject({ status: 'delivered', attempt_count: 2 })
    expect((await passes.attempts()).map((it) => [it.number, it.error_code])).toEqual([
      [1, 'lease_expired'],
      [2, null],
    ])
    expect(await pending()).toEqual([0])
  })

  it('late result of attempt 5 does not dead-letter a delivery moved to a new webhook', async () => {
    await passes.plant('bot_1', ['a'])
    await passes.sql('update deliveries set attempt_count = 4')
    const attempt = await passes.claim()
    await passes.sql(`update deliveries set status = 'pending', ready = 1, attempt_count = 0, lease_until = null`)
    await record(ended(attempt, failure))
    expect(await delivery()).toMatchObject({ status: 'pending', ready: 1, attempt_count: 0 })
    expect(await passes.attempts()).toHaveLength(1)
    expect(await pending()).toEqual([1])
  })

  it('success of an earlier claim completes a delivery that is in flight again', async () => {
    await passes.plant('bot_1', ['a'])
    const attempt = await passes.claim()
    await passes.sql('update deliveries set lease_until = lease_until + 1')
    await record(ended(attempt, success))
    expect(await delivery()).toMatchObject({ status: 'delivered', lease_until: null })
  })

  it('late result locks the row of its delivery', async () => {
    await passes.plant('bot_1', ['a'])
    const attempt = await passes.claim()
    await expire()
    const steps = await passes.steps({ ended: [ended(attempt, success)], room: 0 })
    expect(steps.flatMap(statementsOf).flatMap(({ lock }) => lock ?? [])).toEqual(['row', 'skip'])
  })

  it('result of a deleted delivery is not recorded', async () => {
    await passes.plant('bot_1', ['a'])
    const attempt = await passes.claim()
    await passes.sql('delete from deliveries')
    await record(ended(attempt, success))
    expect(await passes.attempts()).toEqual([])
  })
})

describe('result that the store may already hold', () => {
  const retryManually = () =>
    passes.sql(`update deliveries set status = 'pending', ready = 1, resume_status = 'failed'`)

  it('result is recorded once, however often it is written', async () => {
    await passes.plant('bot_1', ['a'])
    const result = ended(await passes.claim(), failure, { mayBeWritten: true })
    await record(result)
    await record(result)
    expect(await passes.attempts()).toHaveLength(1)
    expect((await delivery())?.attempt_count).toBe(1)
  })

  it('scheduled attempt and manual retry that began at the same time are both recorded', async () => {
    await passes.plant('bot_1', ['a'])
    await record(ended(await passes.claim(), failure))
    await retryManually()
    await record(ended(await passes.claim(), failure, { mayBeWritten: true }))
    expect((await passes.attempts()).map((it) => it.manual)).toEqual([0, 1])
  })

  it('manual retries that began at the same time are both recorded', async () => {
    await passes.plant('bot_1', ['a'])
    for (const _ of ['first', 'second']) {
      await retryManually()
      await record(ended(await passes.claim(), failure))
    }
    expect((await passes.attempts()).map((it) => [it.number, it.manual, it.started_at])).toEqual([
      [1, 1, NOW],
      [2, 1, NOW],
    ])
  })
})

describe('health of an endpoint', () => {
  it('last result of a pass decides whether the endpoint is failing; all results are shown', async () => {
    await passes.plant('bot_1', ['a', 'b'])
    const [first, second] = (await passes.run()).begun
    if (first === undefined || second === undefined) throw new Error('two deliveries are due')
    await record(
      ended(first, failure, { endedAt: NOW + 1, ipAddress: null }),
      ended(second, success, { endedAt: NOW + 2 }),
    )
    const health = {
      failing: 0,
      ip_address: '192.0.2.1',
      last_success_at: NOW + 2,
      last_error_at: NOW + 1,
      last_error_message: failure.error?.message,
    }
    expect(await passes.webhooks()).toMatchObject([health])
    await record(ended(second, failure, { endedAt: NOW + 3, ipAddress: null }))
    expect(await passes.webhooks()).toMatchObject([{ ...health, failing: 1, last_error_at: NOW + 3 }])
  })

  it('success stores no error time, and failure no success time', async () => {
    for (const botId of ['bot_1', 'bot_2']) await passes.plant(botId, ['a'])
    await record(ended(await passes.claim(), success))
    await record(ended(await passes.claim({ bots: new Map([['bot_2', null]]) }), failure))
    expect(await passes.webhooks()).toMatchObject([
      { failing: 0, last_success_at: NOW + 50, last_error_at: null, last_error_message: null },
      { failing: 1, last_success_at: null, last_error_at: NOW + 50 },
    ])
  })

  it('failure of the server itself does not concern the endpoint', async () => {
    await passes.plant('bot_1', ['a'])
    await record(ended(await passes.claim(), ownFailure))
    expect(await passes.webhooks()).toMatchObject([{ failing: 0, last_error_at: null, ip_address: null }])
  })

  it('result of a replaced webhook leaves the health of the new one unchanged', async () => {
    await passes.plant('bot_1', ['a'])
    const attempt = await passes.claim()
    await passes.sql('update webhooks set set_at = set_at + 1')
    await record(ended(attempt, failure))
    expect(await passes.webhooks()).toMatchObject([{ failing: 0, last_error_at: null }])
  })

  it('webhooks are locked before deliveries and by bot id, so that two processes do not deadlock', async () => {
    const results: EndedAttempt[] = []
    for (const botId of ['bot_2', 'bot_3', 'bot_1']) {
      await passes.plant(botId, ['a'])
      results.push(ended(await passes.claim({ bots: new Map([[botId, null]]) }), failure))
    }
    const written = (await passes.steps({ ended: results, room: 0 })).flatMap(statementsOf)
    const changes = written.filter(({ sql }) => /^update (webhooks|deliveries)/.test(sql)).map((it) => it.params[0])
    expect(changes).toEqual(['bot_1', 'bot_2', 'bot_3', 'bot_2 1', 'bot_3 1', 'bot_1 1'])
  })
})

describe('claim whose commit is unconfirmed', () => {
  const release = async (change: Parameters<WorkerPasses['claim']>[0] = {}) => {
    const attempt = await passes.claim(change)
    return passes.run({ unconfirmed: [attempt], bots: new Map(), room: 0 })
  }

  it('first attempt is pending again as if it was never claimed', async () => {
    await passes.plant('bot_1', ['a'])
    expect((await release()).waiting).toEqual(new Map([['bot_1', null]]))
    const released = { status: 'pending', ready: 1, lease_until: null, next_attempt_at: NOW, last_attempt_at: null }
    expect(await delivery()).toMatchObject(released)
  })

  it('released later attempt is due at its claim time and shows the attempt before it', async () => {
    await passes.plant('bot_1', ['a'])
    await record(ended(await passes.claim(), failure))
    const later = NOW + 100_000
    await release({ now: later })
    const released = { status: 'failed', ready: 1, lease_until: null, next_attempt_at: later, last_attempt_at: NOW }
    expect(await delivery()).toMatchObject(released)
  })

  it('manual retry is pending again with the time of the next scheduled attempt', async () => {
    await passes.plant('bot_1', ['a'])
    await passes.sql(`update deliveries set attempt_count = 1, resume_status = 'failed', next_attempt_at = 77`)
    await release()
    expect(await delivery()).toMatchObject({ status: 'pending', resume_status: 'failed', next_attempt_at: 77 })
  })

  it('released delivery is claimed again by the same pass', async () => {
    await passes.plant('bot_1', ['a'])
    const attempt = await passes.claim()
    const result = await passes.run({ unconfirmed: [attempt], bots: new Map() })
    expect(result.begun).toEqual([attempt])
  })

  it('claim of another process is not released', async () => {
    await passes.plant('bot_1', ['a'])
    const attempt = await passes.claim()
    await passes.sql('update deliveries set lease_until = lease_until + 1')
    expect((await passes.run({ unconfirmed: [attempt] })).begun).toEqual([])
    expect((await delivery())?.status).toBe('delivering')
  })
})

describe('expired lease', () => {
  const expire = (now: number, lostBefore = LEASE_UNTIL) =>
    passes.run({ lostBefore, now, bots: new Map(), room: 0, trueNow: lostBefore })

  it('attempt is lost once its lease has ended, and its bot is served', { tags: 'delivery-attempts/3' }, async () => {
    await passes.plant('bot_1', ['a'])
    await passes.claim()
    expect((await expire(NOW, LEASE_UNTIL - 1)).waiting).toEqual(new Map())
    expect((await delivery())?.status).toBe('delivering')
    const result = await expire(NOW + 200)
    expect(result).toMatchObject({ waiting: new Map([['bot_1', null]]), moreLost: false })
    expect(await delivery()).toMatchObject({
      status: 'failed',
      attempt_count: 1,
      next_attempt_at: NOW + 200 + 60_000,
      last_error_code: 'lease_expired',
      lease_until: null,
    })
    expect(await passes.attempts()).toMatchObject([{ number: 1, manual: 0, started_at: NOW, duration_ms: 200 }])
    expect(await passes.webhooks()).toMatchObject([{ failing: 0, last_error_at: null }])
  })

  it.each([
    ['before the start', -1, 0],
    ['after the lease', LEASE_MS + 1, LEASE_MS],
  ])('duration of a lost attempt that is found %s is within the lease', async (_, after, duration) => {
    await passes.plant('bot_1', ['a'])
    await passes.claim()
    await expire(NOW + after)
    expect(await passes.attempts()).toMatchObject([{ duration_ms: duration }])
  })

  it('lost manual retry gets its earlier status back', async () => {
    await passes.plant('bot_1', ['a'])
    await passes.sql(`update deliveries set resume_status = 'delivered', delivered_at = 1`)
    await passes.claim()
    await expire(NOW)
    expect(await delivery()).toMatchObject({ status: 'delivered', attempt_count: 0, manual_attempt_count: 1 })
    expect(await passes.attempts()).toMatchObject([{ manual: 1 }])
  })

  it('lost fifth attempt makes the delivery a dead letter, and its update is no longer pending', async () => {
    await passes.plant('bot_1', ['a'])
    await passes.sql('update deliveries set attempt_count = 4')
    await passes.claim()
    await expire(NOW)
    expect((await delivery())?.status).toBe('dead_letter')
    expect(await pending()).toEqual([0])
  })

  it('lease that ends beyond any clock skew counts as expired', { tags: 'clock-set-back/1' }, async () => {
    await passes.plant('bot_1', ['a'])
    await passes.claim()
    const before = SYSTEM_NOW - PROCESS_CLOCK_SKEW_MS_MAX
    await expire(NOW, before)
    await passes.sql('update deliveries set lease_until = lease_until + 1')
    await passes.run({ trueNow: before, room: 0 })
    expect((await delivery())?.status).toBe('delivering')
    await expire(NOW, before)
    expect((await delivery())?.status).toBe('failed')
  })

  it('delivery scheduled beyond any backoff is due after a clock set back', { tags: 'clock-set-back/1' }, async () => {
    await passes.plant('bot_1', ['a', 'b'])
    const latest = NOW + RETRY_DELAY_MS_MAX + PROCESS_CLOCK_SKEW_MS_MAX
    await passes.sql(`update deliveries set status = 'failed', ready = 0, next_attempt_at = ${latest - 1} + update_id`)
    const result = await passes.run({ lostBefore: 0, bots: new Map() })
    expect(result.begun.map((it) => it.updateId)).toEqual([2])
    expect(result).toMatchObject({ nextDueAt: latest, moreLost: false })
  })
})

describe('maximum of expired leases of a pass', () => {
  const max = BACKLOG_ROWS_PER_WRITE
  const chats = Array.from({ length: max + 1 }, (_, index) => `chat ${index}`)

  it.each([
    [max - 1, false],
    [max + 1, true],
  ])('pass that finds %i lost attempts says whether there may be more: %s', async (count, moreLost) => {
    await passes.plant('bot_1', chats.slice(0, count))
    await passes.sql(`update deliveries set status = 'delivering', ready = 0, lease_until = 1, last_attempt_at = 1`)
    expect((await passes.run({ lostBefore: 1, room: 0 })).moreLost).toBe(moreLost)
    expect(await passes.attempts()).toHaveLength(Math.min(count, max))
  })

  it.each([
    [max - 1, false],
    [max + 1, true],
  ])(
    'pass that finds %i deliveries scheduled too far ahead says whether there may be more: %s',
    async (count, more) => {
      await passes.plant('bot_1', chats.slice(0, count))
      await passes.sql(`update deliveries set status = 'failed', ready = 0, next_attempt_at = 9000000000000`)
      expect((await passes.run({ lostBefore: 0, room: 0 })).moreLost).toBe(more)
      expect((await passes.deliveries()).filter((it) => it.ready === 1)).toHaveLength(Math.min(count, max))
    },
  )
})
