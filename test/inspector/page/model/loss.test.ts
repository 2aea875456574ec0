import { expect, test } from 'vitest'
import { type Count, clockSentence, lossSentence, madeSince } from '../../../../src/inspector/page/model/loss.js'

test('only items made after the snapshot are lost, by the member of their kind', () => {
  const since = '2026-11-21T10:00:00.000Z'
  const chats = [{ created_at: '2026-11-21T10:00:00.001Z' }, { created_at: since }]
  expect(madeSince('chats', chats, since)).toBe(1)
  expect(madeSince('templates', [{ createdAt: '2026-11-22T00:00:00.000Z' }], since)).toBe(1)
})

test.each<[readonly Count[], string]>([
  [[{ kind: 'vouchers', now: 3, lost: 0 }], 'Nothing is lost.'],
  [
    [
      { kind: 'vouchers', now: 12, lost: 9 },
      { kind: 'chats', now: 2, lost: 1 },
      { kind: 'deliveries', now: 300, lost: 100 },
      { kind: 'redemptions', now: null, lost: 1 },
    ],
    'Lost: 9 vouchers, 1 chat, 100 deliveries or more, 1 redemption.',
  ],
  [[{ kind: 'deliveries', now: 100, lost: 100 }], 'Lost: 100 deliveries.'],
])('loss is said in words: %j', (counts, sentence) => {
  expect(lossSentence(counts)).toBe(sentence)
})

test.each([
  ['2026-11-21T10:00:00.000Z', 'The clock stays.'],
  ['2026-11-20T10:00:00.000Z', 'The clock goes back to 2026-11-20 10:00:00 UTC (1 d ago).'],
  ['2026-11-21T12:00:00.000Z', 'The clock goes forward to 2026-11-21 12:00:00 UTC (in 2 h).'],
])('move of the clock to %s is said in words', (to, sentence) => {
  expect(clockSentence(to, Date.parse('2026-11-21T10:00:00.000Z'))).toBe(sentence)
})
