import { describe, expect, it } from 'vitest'
import { notify, type Op, one, run } from '../../src/store/operation.js'
import { type Store, StoreUnavailable } from '../../src/store/store.js'
import { beforeEachStore, closingEngines } from '../support/store/engines.js'
import { note, notes } from '../support/store/notes.js'

describe.each(closingEngines)('$name', ({ create, hasOneWriter }) => {
  let store: Store
  beforeEachStore(create, (fresh) => {
    store = fresh
  })

  it('write of a store returns the result of its operation, and later reads see the change', async () => {
    expect(await store.write(() => note('a'))).toBe('a')
    expect(await store.read(notes)).toEqual(['a'])
  })

  it.runIf(hasOneWriter)('read of a store does not see a write that has not completed', async () => {
    const writing = store.write(() => note('a'))
    expect(await store.read(notes)).toEqual([])
    await writing
    expect(await store.read(notes)).toEqual(['a'])
  })

  it.runIf(hasOneWriter)('write operations run in the order of their calls and see all earlier writes', async () => {
    const seen = await Promise.all(
      ['a', 'b', 'c'].map((id) =>
        store.write(function* () {
          const before = yield* notes()
          yield* note(id)
          return before
        }),
      ),
    )
    expect(seen).toEqual([[], ['a'], ['a', 'b']])
  })

  it('write operations run and notify once if another of their batch throws after writing', async () => {
    const subjects: string[] = []
    store.listen((subject) => subjects.push(subject))
    const writeAndNotify = (id: string) =>
      store.write(function* () {
        const noted = yield* note(id)
        yield* notify(id)
        return noted
      })
    const bug = new Error('a bug')
    const failing = store.write(function* () {
      yield* note('b')
      yield* notify('b')
      throw bug
    })
    expect(await Promise.allSettled([writeAndNotify('a'), failing, writeAndNotify('c')])).toEqual([
      { status: 'fulfilled', value: 'a' },
      { status: 'rejected', reason: bug },
      { status: 'fulfilled', value: 'c' },
    ])
    expect(await store.read(notes)).toEqual(['a', 'c'])
    expect(hasOneWriter ? subjects : subjects.sort()).toEqual(['a', 'c'])
  })

  it('write operation that throws before it writes does not affect others of its batch', async () => {
    const failing = store.write(function* (): Op<void> {
      yield* notes()
      throw new Error('a bug')
    })
    const [failed, written] = await Promise.allSettled([failing, store.write(() => note('a'))])
    expect([failed?.status, written?.status]).toEqual(['rejected', 'fulfilled'])
  })

  it('constraint violation fails only the operation that caused it, with a permanent error', async () => {
    const [early, late, third] = await Promise.allSettled([
      store.write(() => note('a')),
      store.write(() => note('a')),
      store.write(() => note('b')),
    ])
    // On PostgreSQL either of the two operations may be the one that fails.
    const swapped = !hasOneWriter && early?.status === 'rejected'
    const [first, second] = swapped ? [late, early] : [early, late]
    expect([first?.status, second?.status, third?.status]).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect((second as PromiseRejectedResult).reason).not.toBeInstanceOf(StoreUnavailable)
    expect(await store.read(notes)).toEqual(['a', 'b'])
  })

  it('SQL statement that the database rejects fails only the operation that contains it', async () => {
    const [first, second, third] = await Promise.allSettled([
      store.write(() => note('a')),
      store.write(function* () {
        yield* note('b')
        yield* run('update no_such_table set x = 1')
      }),
      store.write(() => note('c')),
    ])
    expect([first?.status, second?.status, third?.status]).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(await store.read(notes)).toEqual(['a', 'c'])
  })

  // On SQLite more operations than one commit takes, on PostgreSQL more than there are connections. PostgreSQL gets fewer,
  // because an operation fails that waits too long for a connection, as 1,000 would on a busy machine.
  const many = hasOneWriter ? 1_000 : 100

  it(`${many} concurrent write operations, more than one commit takes, all complete`, async () => {
    const ids = Array.from({ length: many }, (_, index) => `n${String(index).padStart(4, '0')}`)
    expect(await Promise.all(ids.map((id) => store.write(() => note(id))))).toEqual(ids)
    expect(await store.read(notes)).toEqual(ids)
  })

  it.runIf(hasOneWriter)(`read of a store sees some of ${many} queued writes before all have committed`, async () => {
    const writing = Promise.all(Array.from({ length: many }, (_, index) => store.write(() => note(`n${index}`))))
    let seen: number
    do seen = (await store.read(notes)).length
    while (seen === 0)
    expect(seen).toBeLessThan(many)
    await writing
  })

  it('close() of a store completes the queued write operations', async () => {
    const writing = [store.write(() => note('a')), store.write(() => note('b'))]
    await store.close()
    expect(await Promise.all(writing)).toEqual(['a', 'b'])
  })

  it('closed store rejects reads and writes as unavailable, and close() is idempotent', async () => {
    await store.close()
    await store.close()
    await expect(store.write(() => note('a'))).rejects.toBeInstanceOf(StoreUnavailable)
    await expect(store.read(notes)).rejects.toBeInstanceOf(StoreUnavailable)
  })

  it('undefined as an SQL parameter is rejected instead of bound as null', async () => {
    const broken = store.read(() => one('select $1 as it', [undefined as unknown as null]))
    await expect(broken).rejects.toThrow(TypeError)
  })
})
