import { expect, it, onTestFinished, vi } from 'vitest'
import { all, one } from '../../../src/store/operation.js'
import { openPostgresStore } from '../../../src/store/postgres/store.js'
import { count, counter, counterValue, holdLock } from '../../support/postgres/counters.js'
import { takeDatabase } from '../../support/postgres/database.js'

/** Tests timeouts that the database enforces; test/store/postgres/driver.test.ts tests that connections set them. */

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

it('operation that waits over 5 s for a row lock fails and writes nothing', { tags: 'keys-in-flight/1' }, async () => {
  const { store, url } = await openStore()
  for (const id of ['a', 'b']) await store.write(() => counter(id))
  await holdLock(url, "select * from credential_keys where key_id = 'a' for update", async () => {
    const waiting = store.write(function* () {
      yield* count('b')
      yield* count('a')
    })
    // 55P03: the database ended the statement by lock_timeout, not the client by its own timeout.
    await expect(waiting).rejects.toMatchObject({ name: 'StoreUnavailable', cause: { state: '55P03' } })
  })
  expect([await counterValue(store, 'a'), await counterValue(store, 'b')]).toEqual([0, 0])
})

it('statement that takes longer than 5.5 s is ended by the database and fails as unavailable', async () => {
  const { store } = await openStore()
  const asleep = () => one('select pg_sleep(60)')
  const ended = { name: 'StoreUnavailable', cause: { state: '57014' } }
  await Promise.all([
    expect(store.write(asleep)).rejects.toMatchObject(ended),
    expect(store.read(asleep)).rejects.toMatchObject(ended),
  ])
  const left = `select query from pg_stat_activity
                where datname = current_database() and state = 'active' and pid <> pg_backend_pid()`
  // pg_stat_activity shows the end of the statement a moment after the caller receives the error.
  await vi.waitFor(async () => expect(await store.read(() => all(left))).toEqual([]), { timeout: 30_000 })
})
