import { describe, expect, it } from 'vitest'
import { type Op, one, oneCached, run } from '../../../src/store/operation.js'
import { RowCache } from '../../../src/store/sqlite/engine.js'
import type { Store } from '../../../src/store/store.js'
import { beforeEachStore, engines } from '../../support/store/engines.js'

const READ = 'select t.name from tokens t join applications a on a.id = t.application_id where t.id = $1'

function reader() {
  const cache = new RowCache()
  let reads = 0
  const read = (id: string | number | null, sql = READ) =>
    cache.row({ kind: 'one', sql, params: [id] }, () => `row ${++reads}`)
  return { cache, read }
}

describe('cached row', () => {
  it('row cache reads a row once per list of parameters', () => {
    const { read } = reader()
    expect([read('a'), read('b'), read('a'), read('b')]).toEqual(['row 1', 'row 2', 'row 1', 'row 2'])
  })

  it('row cache also caches that a row does not exist', () => {
    const { cache } = reader()
    let reads = 0
    const absent = () => cache.row({ kind: 'one', sql: READ, params: ['a'] }, () => void reads++)
    expect([absent(), absent(), reads]).toEqual([undefined, undefined, 1])
  })

  it("row cache distinguishes a number from its digits as text, and null from 'null'", () => {
    const { read } = reader()
    expect([read(1), read('1'), read(null), read('null')]).toEqual(['row 1', 'row 2', 'row 3', 'row 4'])
  })

  it('row cache distinguishes parameter lists that are equal when concatenated', () => {
    const { cache } = reader()
    const read = (params: string[]) => cache.row({ kind: 'one', sql: READ, params }, () => params.join('|'))
    expect([read(['a', '1:b']), read(['a 1:b', '']), read(['a', '1:b'])]).toEqual(['a|1:b', 'a 1:b|', 'a|1:b'])
  })

  it.each([
    'insert into tokens (id) values ($1)',
    'update tokens set name = $1',
    'delete from tokens where id = $1',
    'update applications set status = $1',
    ' INSERT INTO Tokens (id) values ($1)',
    'insert\n   into applications (id) values ($1)',
  ])('cached row of tokens and applications is read again after the statement: %s', (sql) => {
    const { cache, read } = reader()
    read('a')
    cache.written(sql)
    expect(read('a')).toBe('row 2')
  })

  it.each(['insert into vouchers (id) values ($1)', 'update templates set issued_count = 1'])(
    'cached row of tokens and applications stays cached after the statement: %s',
    (sql) => {
      const { cache, read } = reader()
      read('a')
      cache.written(sql)
      expect(read('a')).toBe('row 1')
    },
  )

  it('cached row is read again after a statement of unknown form', () => {
    const { cache, read } = reader()
    read('a')
    cache.written('replace into vouchers (id) values ($1)')
    expect(read('a')).toBe('row 2')
  })

  it('row cached after a first write to its table is read again after the next write', () => {
    const { cache, read } = reader()
    read('a')
    cache.written('update vouchers set state = $1')
    const voucher = 'select v.id from vouchers v where v.id = $1'
    read('v', voucher)
    cache.written('update vouchers set state = $1')
    expect(read('v', voucher)).toBe('row 3')
  })
})

describe.each(engines)('cached row on $name', ({ create }) => {
  let store: Store
  beforeEachStore(create, (fresh) => {
    store = fresh
  })

  const SQL = 'select key_check from credential_keys where key_id = $1'
  const kept = () => store.read(() => oneCached<{ key_check: string }>(SQL, ['k']))
  function* set(check: string): Op<void> {
    yield* run('delete from credential_keys where key_id = $1', ['k'])
    yield* run('insert into credential_keys (key_id, key_check, created_at) values ($1, $2, $3)', ['k', check, 0])
  }

  it('cached row is never older than the last completed write', async () => {
    expect(await kept()).toBeUndefined()
    for (const check of ['one', 'two', 'three']) {
      await store.write(() => set(check))
      expect(await kept()).toEqual({ key_check: check })
      expect(await kept()).toEqual({ key_check: check })
    }
  })

  it('cached row is unchanged after an operation that failed', async () => {
    await store.write(() => set('one'))
    await kept()
    const failing = store.write(function* (): Op<void> {
      yield* set('two')
      throw new Error('a bug')
    })
    await expect(failing).rejects.toThrow('a bug')
    expect(await kept()).toEqual({ key_check: 'one' })
  })

  it('write operation reads from the database, not from the row cache', async () => {
    await store.write(() => set('one'))
    await kept()
    const seen = await store.write(function* (): Op<unknown> {
      yield* set('two')
      return [yield* oneCached(SQL, ['k']), yield* one(SQL, ['k'])]
    })
    expect(seen).toEqual([{ key_check: 'two' }, { key_check: 'two' }])
  })
})
