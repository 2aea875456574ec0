import { randomBytes } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { TestClock } from '../../../src/server/clock.js'
import { SharedSecureKeys } from '../../../src/server/transport/shared-keys.js'
import { notify, run } from '../../../src/store/operation.js'
import { load, SUBJECT } from '../../../src/store/secure-keys.js'
import { openSqliteStore } from '../../../src/store/sqlite/store.js'
import type { Store } from '../../../src/store/store.js'
import { keys } from '../../support/store/ledger.js'

test('shared keys stay rotated when a key read that began before the rotation ends after it', async () => {
  const store = openSqliteStore(':memory:')
  onTestFinished(() => store.close())
  await store.write(() =>
    run('create table secure_keys (place integer primary key, version integer not null, sealed text not null)'),
  )
  let delay: Promise<void> | undefined
  const delaying: Store = {
    ...store,
    async read(op) {
      const until = delay
      const row = await store.read(op)
      await until
      return row
    },
  }
  const clock = new TestClock()
  const shared = await SharedSecureKeys.open(delaying, keys, randomBytes, clock)
  const first = shared.current.kid

  let release = () => {}
  delay = new Promise((resolve) => {
    release = resolve
  })
  await store.write(() => notify(SUBJECT))
  delay = undefined
  await shared.rotate(clock.now())
  // First let the read complete that the rotation's notification triggers.
  await store.read(load)
  await setImmediate()
  const rotated = shared.current.kid
  expect(rotated).not.toBe(first)
  release()
  await setImmediate()
  expect(shared.current.kid).toBe(rotated)
})
