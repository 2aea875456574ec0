import { expect, it, onTestFinished, vi } from 'vitest'
import { all, one } from '../../../src/store/operation.js'
import { openPostgresStore } from '../../../src/store/postgres/store.js'
import { count, counter, counterValue, holdLock } from '../../support/postgres-counters.js'
import { takeDatabase } from '../../support/postgres-database.js'

/** Times that the database keeps; test/store/postgres/driver.test.ts shows that connections have them. */

async function openStore() {
  const database = takeDatabase()
  const url = await database.url
  const store = await openPostgresStore({ url, env: {} })
  onTestFinished(async () => {
    await store.close()
    database.release()
  })
  return { store, url }
}

it('an operation that waits for a row longer than 5 s is unavailable, and has done nothing', async () => {
  const { store, url } = await openStore()
  for (const id of ['a', 'b']) await store.write(() => counter(id))
  await holdLock(url, "select * from credential_keys where key_id = 'a' for update", async () => {
    const waiting = store.write(function* () {
      yield* count('b')
      yield* count('a')
    })
    // Ended by the database for its lock, not given up for its time.
    await expect(waiting).rejects.toMatchObject({ name: 'StoreUnavailable', cause: { state: '55P03' } })
  })
  expect([await counterValue(store, 'a'), await counterValue(store, 'b')]).toEqual([0, 0])
})

it('the database ends a statement that takes longer than 5.5 s; its operation is unavailable', async () => {
  const { store } = await openStore()
  const asleep = () => one('select pg_sleep(60)')
  const ended = { name: 'StoreUnavailable', cause: { state: '57014' } }
  await Promise.all([
    expect(store.write(asleep)).rejects.toMatchObject(ended),
    expect(store.read(asleep)).rejects.toMatchObject(ended),
  ])
  const left = `select query from pg_stat_activity
                where datname = current_database() and state = 'active' and pid <> pg_backend_pid()`
  // The caller hears of the error a moment before the list does.
  await vi.waitFor(async () => expect(await store.read(() => all(left))).toEqual([]), { timeout: 30_000 })
})
