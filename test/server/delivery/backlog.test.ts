import { describe, expect, it } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { applyBacklog, BACKLOG_ROWS_PER_WRITE } from '../../../src/store/delivery/backlog.js'
import { deleteOldUpdates } from '../../../src/store/delivery/updates.js'
import { runWorkerPass } from '../../../src/store/delivery/worker-pass.js'
import { all, type Op, run, runEach } from '../../../src/store/operation.js'
import { DAY_MS, START_MS, sharedApp } from '../../support/server/app.js'
import { newTenant } from '../../support/server/tenant.js'

const URL_OF = 'https://hooks.example.com/hook'
const SECRET = 'a-secret-that-signs'
const BACKLOG = 2 * BACKLOG_ROWS_PER_WRITE + 50

const server = sharedApp()

/** @returns a function that returns how many update and delivery rows each transaction changed since its last call */
function watchTransactions(): () => number[] {
  const { store } = server.deps
  const { write } = store
  const changed: number[] = []
  store.write = (op, shared) =>
    write(function* () {
      const steps = op()
      let rows = 0
      let step = steps.next()
      while (!step.done) {
        const result = yield step.value
        const counts = step.value.kind === 'several' ? (result as unknown[]) : [result]
        const { value } = step
        const statements = value.kind === 'several' ? value.statements : 'sql' in value ? [value] : []
        for (const [index, { kind, sql }] of statements.entries()) {
          const touches = kind === 'run' ? (counts[index] as number) : kind === 'all' ? (counts[index] as []).length : 0
          if (/\b(updates|deliveries)\b/.test(sql))
            rows = Math.max(rows, kind === 'run' && value.kind === 'several' ? 1 : touches)
        }
        if (value.kind === 'several') rows = Math.max(rows, value.statements.length)
        step = steps.next(result)
      }
      changed.push(rows)
      return step.value
    }, shared)
  return () => changed.splice(0)
}

/** Creates a bot with so many pending updates that changing their rows takes three transactions. */
async function botWithBacklog() {
  const tenant = await newTenant(server)
  const bot = await tenant.bot()
  const { store } = server.deps
  const ids = Array.from({ length: BACKLOG }, (_, index) => index + 1)
  await store.write(function* () {
    yield* runEach(
      `insert into updates (bot_id, update_id, type, chat_id, body, created_at, pending)
       values ($1, $2, 'ping', null, $3, $4, 1)`,
      ids.map((it) => [bot.id, it, `{"update_id":${it},"type":"ping","ping":{}}`, START_MS]),
    )
    yield* run('update update_queues set last_update_id = $2 where bot_id = $1', [bot.id, BACKLOG])
  })
  const list = async (status: 'pending' | 'cancelled' | 'failed') => {
    const listed = await tenant.console(contract.webhook.deliveries, { botId: bot.id, status, limit: 1 })
    return { total: listed.data.pagination.total, status: listed.data.items[0]?.status ?? status }
  }
  return {
    tenant,
    bot,
    list,
    set: (input = {}) => bot.call(contract.webhook.setByBot, { url: URL_OF, secret_token: SECRET, ...input }),
    remove: (input = {}) => tenant.console(contract.webhook.delete, { botId: bot.id, ...input }),
    poll: (input = {}) => bot.call(contract.bots.updates, { limit: 1, ...input }),
    pending: async () => (await bot.call(contract.webhook.info, {})).data.pending_update_count,
    ping: () => tenant.operator(contract.platform.addUpdate, { botId: bot.id, type: 'ping', payload: {} }),
    rows: <R>(table: 'updates' | 'deliveries') =>
      store.read(() => all<R>(`select * from ${table} where bot_id = $1 order by update_id`, [bot.id])),
  }
}

const settle = (): Promise<number> =>
  server.deps.store.write(() => applyBacklog({ now: START_MS, newDeliveryId: () => server.deps.newId('dlv') }))
const settleAll = async (): Promise<void> => {
  while ((await settle()) > 0) continue
}

describe('backlog of updates', () => {
  it('transaction that changes a backlog changes at most 200 updates', async () => {
    const changed = watchTransactions()
    const { set, remove, poll } = await botWithBacklog()
    changed()
    const calls = [set, remove, () => poll({ offset: -5 }), set, () => remove({ drop_pending_updates: true })]
    for (const call of calls) {
      expect((await call()).status).toBe(200)
      await settleAll()
    }
    expect(Math.max(...changed())).toBe(BACKLOG_ROWS_PER_WRITE)
    await settleAll()
  })

  it('call that drops a backlog hides it from every reader before it returns', async () => {
    for (const drop of ['set', 'remove'] as const) {
      const bot = await botWithBacklog()
      await bot.set()
      await settleAll()
      const dropped = await bot[drop]({ drop_pending_updates: true })
      expect(dropped.data).toMatchObject({ dropped_updates: BACKLOG, pending_update_count: 0 })
      expect(await bot.pending()).toBe(0)
      expect(await bot.list('cancelled')).toEqual({ total: BACKLOG, status: 'cancelled' })
      expect((await bot.list('pending')).total).toBe(0)
      if (drop === 'remove') expect((await bot.poll()).data.items).toEqual([])
      expect((await bot[drop]({ drop_pending_updates: true })).data.dropped_updates).toBe(0)
      await settleAll()
      expect(await bot.rows('updates')).toEqual(
        (await bot.rows<object>('updates')).map((it) => ({ ...it, pending: 0, body: '' })),
      )
      expect(await bot.list('cancelled')).toEqual({ total: BACKLOG, status: 'cancelled' })
    }
  })

  it('dropped updates of a backlog are not delivered even before their rows are changed', async () => {
    const bot = await botWithBacklog()
    await bot.set()
    await settleAll()
    await bot.set({ drop_pending_updates: true })
    const kept = (await bot.ping()).data.update_id
    const bots = new Map([[bot.bot.id, null]])
    const times = { now: START_MS, trueNow: START_MS }
    const { begun } = await server.deps.store.write(() =>
      runWorkerPass({ ended: [], bots, lostBefore: null, room: 1_000, ...times }),
    )
    expect(begun.map((it) => it.updateId)).toEqual([kept])
    await settleAll()
  })

  it('poll that confirms part of a backlog hides it from every reader and keeps the rest', async () => {
    const bot = await botWithBacklog()
    expect((await bot.poll({ offset: -3, limit: 100 })).data.items.map((it) => it.update_id)).toEqual([
      BACKLOG - 2,
      BACKLOG - 1,
      BACKLOG,
    ])
    expect(await bot.pending()).toBe(3)
    expect((await bot.set()).data.pending_update_count).toBe(3)
    await settleAll()
    expect((await bot.rows<{ update_id: number }>('deliveries')).map((it) => it.update_id)).toEqual([
      BACKLOG - 2,
      BACKLOG - 1,
      BACKLOG,
    ])
  })

  it('webhook changes and polls give equal results before and after the backlog is applied', async () => {
    const [eager, lazy] = [await botWithBacklog(), await botWithBacklog()]
    type Call = (bot: typeof eager) => Promise<{ readonly status: number; readonly text: string }>
    const calls: Call[] = [
      (it) => it.set(),
      (it) => it.ping(),
      (it) => it.remove(),
      (it) => it.set(),
      (it) => it.set(),
      (it) => it.remove(),
      (it) => it.poll({ offset: BACKLOG_ROWS_PER_WRITE + 20 }),
      (it) => it.ping(),
      (it) => it.set(),
      (it) => it.remove(),
      (it) => it.remove(),
      (it) => it.poll({ offset: -30 }),
      (it) => it.set({ drop_pending_updates: true }),
      (it) => it.ping(),
      (it) => it.remove(),
      (it) => it.set(),
    ]
    const comparable = (text: string) => text.replace(/"requestId":"[^"]*"|"created_at":"[^"]*"/g, '')
    for (const [index, call] of calls.entries()) {
      const settled = await call(eager)
      await settleAllOf(eager.bot.id)
      const unsettled = await call(lazy)
      expect([index, comparable(unsettled.text)]).toEqual([index, comparable(settled.text)])
      expect([index, await lazy.pending()]).toEqual([index, await eager.pending()])
      if (index % 3 === 0) await settle()
    }
    await settleAll()
    const standing = async (bot: typeof eager) => ({
      updates: (await bot.rows<{ update_id: number; pending: number }>('updates')).map((it) => [
        it.update_id,
        it.pending,
      ]),
      deliveries: (
        await bot.rows<{ update_id: number; status: string; ready: number; attempt_count: number }>('deliveries')
      )
        .filter((it) => it.status !== 'cancelled')
        .map((it) => [it.update_id, it.status, it.ready, it.attempt_count]),
    })
    expect(await standing(lazy)).toEqual(await standing(eager))
  })

  it('poll returns the first update after a long expired backlog', async () => {
    const bot = await botWithBacklog()
    server.clock.advance(DAY_MS)
    await bot.ping()
    expect((await bot.poll()).data.items.map((it) => it.update_id)).toEqual([BACKLOG + 1])
    expect((await bot.poll({ offset: -1 })).data.items.map((it) => it.update_id)).toEqual([BACKLOG + 1])
    await server.deps.store.write(() => deleteOldUpdates(server.clock.now(), 10_000))
  })
})

/** Changes all backlog rows of one bot while the backlogs of other bots stay unchanged. */
async function settleAllOf(botId: string): Promise<void> {
  const others = function* (): Op<Record<string, number | string | null>[]> {
    return yield* all(
      `select * from update_queues where bot_id <> $1 and coalesce(confirmed_to, switched_to) is not null`,
      [botId],
    )
  }
  const aside = await server.deps.store.read(others)
  const mark = (it: Record<string, number | string | null>, set: boolean) =>
    server.deps.store.write(() =>
      run('update update_queues set confirmed_to = $2, dropped_to = $3, switched_to = $4 where bot_id = $1', [
        it.bot_id as string,
        set ? (it.confirmed_to as number) : null,
        set ? (it.dropped_to as number) : null,
        set ? (it.switched_to as number) : null,
      ]),
    )
  for (const it of aside) await mark(it, false)
  await settleAll()
  for (const it of aside) await mark(it, true)
}
