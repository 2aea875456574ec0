import { expect, test } from 'vitest'
import { clockSentence, listOf, madeSince } from '../../../../src/inspector/page/model/loss.js'

test('only items made after the snapshot are lost, by the member of their kind', () => {
  const since = '2026-11-21T10:00:00.000Z'
  const chats = [{ created_at: '2026-11-21T10:00:00.001Z' }, { created_at: since }]
  expect(madeSince('chats', chats, since)).toBe(1)
  expect(madeSince('templates', [{ createdAt: '2026-11-22T00:00:00.000Z' }], since)).toBe(1)
})

test('records are listed by number and kind, and a count at the limit is a minimum', () => {
  expect(listOf({ vouchers: 0 })).toBe('nothing')
  expect(listOf({ vouchers: 9, templates: 0, chats: 1, deliveries: 100 }, 100)).toBe(
    '9 vouchers, 1 chat, 100 deliveries or more',
  )
  expect(listOf({ deliveries: 100 })).toBe('100 deliveries')
})

test.each([
  ['2026-11-21T10:00:00.000Z', 'The clock stays.'],
  ['2026-11-20T10:00:00.000Z', 'The clock goes back to 2026-11-20 10:00:00Z (1 d ago).'],
  ['2026-11-21T12:00:00.000Z', 'The clock goes forward to 2026-11-21 12:00:00Z (in 2 h).'],
])('move of the clock to %s is said in words', (to, sentence) => {
  expect(clockSentence(to, Date.parse('2026-11-21T10:00:00.000Z'))).toBe(sentence)
})
