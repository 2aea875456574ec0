import { expect, test } from 'vitest'
import { recordKinds } from '../../../../src/contract/record-kinds.js'
import { idParts, listOfId } from '../../../../src/inspector/page/model/ids.js'

const ulid = '01JDKQ4Z8N6W2T5Y9RB3CV7HXV'

test('text is split at ids, whatever stands beside them', () => {
  expect(idParts(`No voucher vch_${ulid}, see "req_${ulid}".`)).toEqual([
    'No voucher ',
    `vch_${ulid}`,
    ', see "',
    `req_${ulid}`,
    '".',
  ])
})

test.each([
  ['of another kind', `flt_${ulid}`],
  ['with a prefix within a word', `xvch_${ulid}`],
  ['that is too short', `vch_${ulid.slice(1)}`],
  ['that is too long', `vch_${ulid}0`],
  ['in lower case', `vch_${ulid.toLowerCase()}`],
  ['of a token, which has no view', `tok_${ulid}`],
  ['of a secret', `sop_${ulid}`],
])('text %s is no id', (_, text) => {
  expect(idParts(text)).toEqual([text])
})

test('each kind of record has a list with its view, except tokens and faults', () => {
  const lists = Object.entries(recordKinds).map(([kind, { prefix }]) => [kind, listOfId(`${prefix}_${ulid}`)])
  expect(Object.fromEntries(lists)).toEqual({
    ...{ bots: 'bots', apps: '', tokens: undefined, templates: 'templates', vouchers: 'vouchers' },
    ...{ redemptions: 'vouchers', deliveries: 'deliveries', chats: 'chats', faults: undefined, requests: 'requests' },
  })
  expect([listOfId('bot_shop'), listOfId('shop'), listOfId('')]).toEqual(['bots', undefined, undefined])
})

test('text of many ids has a maximum of links, and keeps its characters', () => {
  const text = `vch_${ulid} `.repeat(1_000)
  const parts = idParts(text, 3)
  expect(parts).toHaveLength(7)
  expect(parts.join('')).toBe(text)
})

// With quadratic time this would take minutes.
test.each(['vch_', `vch_${ulid.slice(1)} `, `vch_${ulid} `])('text of 1 MiB is split in linear time: %j', (part) => {
  const text = part.repeat(2 ** 20 / part.length)
  expect(idParts(text).join('')).toBe(text)
})
