import fc from 'fast-check'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { inverseOf } from '../../../src/store/sqlite/changeset.js'
import { closeDatabase, openDatabase, type SqliteDatabase } from '../../../src/store/sqlite/engine.js'

fc.configureGlobal({ seed: 1 })

let db: SqliteDatabase
beforeEach(() => {
  db = openDatabase(':memory:')
  db.exec(`create table pairs (a text not null, b any, n integer not null, c any, primary key (a, n)) strict;
    create table keyed (id integer primary key, value any) strict, without rowid`)
})
afterEach(() => closeDatabase(db))

const state = () =>
  ['select * from pairs order by a, n', 'select * from keyed order by id'].map((sql) => db.prepare(sql).all())

const values = fc.oneof(
  fc.constant(null),
  fc.integer(),
  fc.double({ noNaN: true }),
  // A length of 128 takes two bytes, of 16,384 three.
  fc.integer({ min: 0, max: 3 }).map((n) => 'é'.repeat([0, 1, 64, 8_192][n] as number)),
  fc.uint8Array({ maxLength: 200 }),
)
const keys = fc.constantFrom('a', 'b', 'c')
const numbers = fc.integer({ min: 1, max: 3 })
const statements = fc.oneof(
  fc.tuple(fc.constant('insert or replace into pairs (a, n, b, c) values (?, ?, ?, ?)'), keys, numbers, values, values),
  fc.tuple(fc.constant('insert or replace into keyed (id, value) values (?, ?)'), numbers, values),
  fc.tuple(fc.constant('update pairs set b = ? where a = ?'), values, keys),
  fc.tuple(fc.constant('update or replace pairs set c = ?, n = n + 1 where n = ?'), values, numbers),
  fc.tuple(fc.constant('update keyed set value = ?'), values),
  fc.tuple(fc.constant('delete from pairs where a = ?'), keys),
  fc.tuple(fc.constant('delete from keyed where id > ?'), numbers),
)
const several = fc.array(statements, { maxLength: 12 })

it('the inverse of any changeset returns the tables to the state before the changes', () => {
  const apply = (all: readonly (readonly unknown[])[]) => {
    for (const [sql, ...params] of all) db.prepare(sql as string).run(...(params as never[]))
  }
  fc.assert(
    fc.property(several, several, (earlier, later) => {
      apply(earlier)
      const before = state()
      const session = db.createSession()
      apply(later)
      expect(db.applyChangeset(inverseOf(session.changeset()))).toBe(true)
      expect(state()).toEqual(before)
      expect(session.changeset()).toHaveLength(0)
      session.close()
    }),
    { numRuns: 200 },
  )
})
