import { expect, it } from 'vitest'
import { PROCESS_CLOCK_SKEW_MS_MAX } from '../../src/domain/time.js'
import { isPolled, takePoll } from '../../src/store/bots/open-polls.js'
import { runWorkerPass } from '../../src/store/delivery/worker-pass.js'
import { hasEnded, memorySessions } from '../../src/store/sessions.js'
import { DeliveryScene } from '../support/server/deliveries.js'
import { onPostgres } from '../support/store/engine-name.js'

const DAY = 86_400_000
const HOUR = 3_600_000

const idle = { ended: [], bots: new Map<string, null>(), room: 10 }

it('delivery that failed while the clock was days ahead is due after the clock is set back', async () => {
  const scene = await DeliveryScene.open({ started: false })
  const { store, clock } = scene.server.deps
  await scene.set(await scene.receiver())
  const updateId = await scene.ping()
  const { begun } = await store.write(() =>
    runWorkerPass({ ...idle, bots: new Map([[scene.bot.id, null]]), lostBefore: null, now: clock.now(), trueNow: 0 }),
  )
  const outcome = { statusCode: 503, error: { code: 'status', message: '503' }, durationMs: 5 }
  const failedAt = clock.now() + 10 * DAY
  const ended = begun.map((attempt) => ({ attempt, outcome, ipAddress: null, endedAt: failedAt }))
  await store.write(() => runWorkerPass({ ...idle, ended, lostBefore: null, now: failedAt, trueNow: 0 }))
  expect((await scene.delivery(updateId)).status).toBe('failed')

  // The worker trusts a due time up to the longest backoff (1 h) plus the clock tolerance ahead, no later one.
  const look = (now: number) => store.write(() => runWorkerPass({ ...idle, lostBefore: 0, now, trueNow: 0 }))
  expect((await look(failedAt + 60_000 - HOUR - PROCESS_CLOCK_SKEW_MS_MAX)).begun).toEqual([])
  const { begun: again } = await look(failedAt + 60_000 - HOUR - PROCESS_CLOCK_SKEW_MS_MAX - 1)
  expect(again.map((it) => it.updateId)).toEqual([updateId])
})

it('delivery lease that ends implausibly late after the clock was set back counts as lost', async () => {
  const scene = await DeliveryScene.open({ started: false })
  const { store, clock } = scene.server.deps
  await scene.set(await scene.receiver())
  const updateId = await scene.ping()
  const leasedAt = 10 * DAY
  await store.write(() =>
    runWorkerPass({
      ...idle,
      bots: new Map([[scene.bot.id, null]]),
      lostBefore: null,
      now: clock.now(),
      trueNow: leasedAt,
    }),
  )
  const look = (lostBefore: number) =>
    store.write(() => runWorkerPass({ ...idle, lostBefore, now: clock.now(), trueNow: 0 }))
  await look(leasedAt - PROCESS_CLOCK_SKEW_MS_MAX)
  expect((await scene.delivery(updateId)).status).toBe('delivering')
  await look(leasedAt - PROCESS_CLOCK_SKEW_MS_MAX - 1)
  expect(await scene.delivery(updateId)).toMatchObject({ status: 'failed', last_error: { code: 'lease_expired' } })
})

// Only on PostgreSQL: polls on SQLite are in the memory of the only process.
it.runIf(onPostgres)(
  'poll of a process that ended while its clock was days ahead blocks no webhook later',
  async () => {
    const scene = await DeliveryScene.open({ started: false })
    const { store } = scene.server.deps
    const botId = scene.bot.id
    await store.write(() => takePoll({ botId, holder: 'x', until: 10 * DAY }))
    const at = (trueNow: number) => store.read(() => isPolled(botId, trueNow))
    expect([await at(10 * DAY - 50_000), await at(10 * DAY), await at(0)]).toEqual([true, false, false])
  },
)

it('encrypted session opened while the clock was days ahead ends when the clock is set back', async () => {
  const session = { sid: 's', expiresAt: 10 * DAY + 600_000 }
  const times = [10 * DAY, 10 * DAY - PROCESS_CLOCK_SKEW_MS_MAX, 10 * DAY + 600_000, 0]
  expect(times.map((now) => hasEnded(session, now))).toEqual([false, false, true, true])
  const sessions = memorySessions<typeof session>()
  await sessions.add(session)
  await sessions.add({ sid: 'later', expiresAt: 600_000 })
  await sessions.deleteExpired(0)
  expect([await sessions.find('s'), (await sessions.find('later'))?.sid]).toEqual([undefined, 'later'])
})
