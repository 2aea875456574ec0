import { expect, expectTypeOf, test } from 'vitest'
import { updating } from '../../src/store/operation.js'
import { selecting } from '../../src/store/select.js'

interface Row {
  id: string
  bot_id: string | null
}

test('selecting returns the SQL; it finds columns behind tables, aliases, and in the last list', () => {
  const texts = [
    selecting<Row>()('select id, bot_id from bots'),
    selecting<Row>()(`select b.id,
       coalesce(b.name, '') as bot_id
     from bots b`),
    selecting<Row>()(`with recent as (select id from bots) select id, ${'bot_id' as string} as bot_id from recent`),
    selecting<Row, { name: string }>()('select b.*, b.id, b.bot_id from bots b'),
  ]
  expect(texts.map((it) => it.slice(0, 6))).toEqual(['select', 'select', 'with r', 'select'])
})

test('selecting does not compile for a list that lacks a column', () => {
  // @ts-expect-error a missing column
  selecting<Row>()('select id from bots')
  // @ts-expect-error a column that only the condition names
  selecting<Row>()('select id from bots where bot_id = $1')
  // @ts-expect-error a column under another name
  selecting<Row>()('select id, bot_id as bot from bots')
  // @ts-expect-error a text that the compiler does not know
  selecting<Row>()('select id, bot_id from bots' as string)
  expectTypeOf(selecting<Row>()('select id, bot_id from bots')).toExtend<string>()
})

test('updating does not compile for a list that lacks a column which the operation does not keep', () => {
  interface Full extends Row {
    name: string
  }
  // @ts-expect-error a missing column
  updating<Full, 'bot_id'>()('bots', ['id'], [])
  // @ts-expect-error a column that the operation keeps
  updating<Full, 'bot_id'>()('bots', ['id'], ['name', 'bot_id'])
  const row = { id: 'bot_1', bot_id: null, name: 'Till' }
  const statement = updating<Full, 'bot_id'>()('bots', ['id'], ['name'])(row).next().value
  expect(statement).toMatchObject({ sql: 'update bots set name = $2 where id = $1', params: ['bot_1', 'Till'] })
})
