import { describe, expect, it } from 'vitest'
import { DELETED_PER_WRITE, ExpirySweeper } from '../../src/server/background/expiry-sweeper.js'
import { all, type Op, run } from '../../src/store/operation.js'
import type { Store } from '../../src/store/store.js'
import { beforeEachStore, engines } from '../support/store/engines.js'

const NOW = 1_000_000

const key = (name: string, expiresAt: number | null): Op<number> =>
  run(
    `insert into idempotency_keys (application_id, idempotency_key, fingerprint, status, subject_id, data, created_at, expires_at)
     values ('app_1', $1, 'f', 201, 'vch_1', null, 0, $2)`,
    [name, expiresAt],
  )

describe.each(engines)('ExpirySweeper on $name', ({ create }) => {
  let store: Store
  beforeEachStore(create, (fresh) => {
    store = fresh
  })
  const failed = (error: unknown) => {
    throw error
  }
  const keysLeft = () => store.read(() => all('select idempotency_key as key from idempotency_keys order by 1'))

  it('ExpirySweeper deletes only expired rows, a limited number per transaction', async () => {
    const expired = DELETED_PER_WRITE * 2 + 50
    await store.write(function* () {
      for (let n = 0; n < expired; n++) yield* key(`gone-${n}`, NOW - n)
      yield* key('left', NOW + 1)
      yield* key('for ever', null)
    })
    const sizes: number[] = []
    const write = async <T>(op: () => Op<T>): Promise<T> => {
      const before = (await keysLeft()).length
      const response = await store.write(op)
      const gone = before - (await keysLeft()).length
      if (gone > 0) sizes.push(gone)
      return response
    }
    await new ExpirySweeper({ ...store, write }, failed).start(NOW)
    expect(sizes).toEqual([DELETED_PER_WRITE, DELETED_PER_WRITE, 50])
    expect(await keysLeft()).toEqual([{ key: 'for ever' }, { key: 'left' }])
  })

  it('ExpirySweeper starts over if started with a later time while it runs', async () => {
    await store.write(() => key('now', NOW))
    await store.write(() => key('later', NOW + 1))
    const sweeper = new ExpirySweeper(store, failed)
    await Promise.all([sweeper.start(NOW), sweeper.start(NOW + 1)])
    expect(await keysLeft()).toEqual([])
  })

  it('ExpirySweeper stops after the current transaction and never runs again', async () => {
    await store.write(function* () {
      for (let n = 0; n < DELETED_PER_WRITE * 3; n++) yield* key(`gone-${n}`, NOW)
    })
    const sweeper = new ExpirySweeper(store, failed)
    const working = sweeper.start(NOW)
    await sweeper.stop()
    await working
    expect((await keysLeft()).length).toBe(DELETED_PER_WRITE * 2)
    await sweeper.start(NOW)
    expect((await keysLeft()).length).toBe(DELETED_PER_WRITE * 2)
  })
})
