import { Compile } from 'typebox/compile'
import { describe, expect, test } from 'vitest'
import { payloadSchemas } from '../../src/contract/update-payloads.js'
import { type UpdateType, updateTypes } from '../../src/contract/updates.js'
import { signWebhook, verifyWebhook } from '../../src/webhook/index.js'
import { pathsOf, readOverride, syntheticUpdate } from '../../src/workbench/synthetic.js'

const now = Date.UTC(2026, 10, 21, 10)
describe.each(updateTypes)('synthetic update of type %s', (type) => {
  test('a synthetic update matches the API contract and passes signature verification', () => {
    const update = syntheticUpdate(type, { updateId: 7, now })
    expect(Object.keys(update)).toEqual(['update_id', 'type', 'created_at', type])
    expect(Compile(payloadSchemas[type]).Check(update[type])).toBe(true)
    const rawBody = JSON.stringify(update)
    const headers = signWebhook({ rawBody, secrets: ['s'], timestamp: now / 1000, updateId: 7 })
    expect(verifyWebhook({ headers, rawBody, secrets: ['s'], now })).toMatchObject({ ok: true, body: { type } })
  })

  test('two synthetic updates with the same id and time have the same bytes', () => {
    const one = () => JSON.stringify(syntheticUpdate(type, { updateId: 7, now }))
    expect(one()).toBe(one())
    expect(one()).not.toBe(JSON.stringify(syntheticUpdate(type, { updateId: 8, now })))
  })

  test('readOverride() accepts some value for every path that pathsOf() lists', () => {
    const values = ['1', 'true', '2027-01-31T00:00:00+01:00', 'null', 'free text']
    for (const path of pathsOf(type)) {
      const named = path.replace(/NAME$/, 'colour')
      const choices = /one of ([^.]*?)(, or null)?\.$/.exec(failing(type, named))?.[1]?.split(', ') ?? []
      const accepted = [...choices, ...values].map((it) => readOverride(type, named, it)).filter((it) => it.ok)
      expect([named, accepted.length > 0]).toEqual([named, true])
    }
  })
})

function failing(type: UpdateType, path: string): string {
  const read = readOverride(type, path, '\u0000 no such value')
  return read.ok ? '' : read.message
}

const set = (type: UpdateType, path: string, text: string) => {
  const read = readOverride(type, path, text)
  if (!read.ok) throw new Error(read.message)
  return syntheticUpdate(type, { updateId: 7, now, overrides: [read.override] })
}

test.each([
  ['message', 'message.text', '', { message: { text: '' } }],
  ['message', 'message.text', 'null', { message: { text: 'null' } }],
  ['message', 'message.message_id', '12', { message: { message_id: 12 } }],
  ['message', 'message.from.is_bot', 'true', { message: { from: { is_bot: true } } }],
  ['message', 'message.chat.type', 'group', { message: { chat: { type: 'group' } } }],
  ['ping', 'created_at', '2027-01-31T01:00:00+01:00', { created_at: '2027-01-31T00:00:00.000Z' }],
  ['voucher_issued', 'voucher_issued.voucher.botId', 'null', { voucher_issued: { voucher: { botId: null } } }],
  [
    'voucher_issued',
    'voucher_issued.voucher.metadata.a',
    '1',
    { voucher_issued: { voucher: { metadata: { a: '1' } } } },
  ],
] as const)(
  'a %s update with the override %s=%s contains the value in the type of that member',
  (type, path, text, expected) => {
    expect(set(type, path, text)).toMatchObject(expected)
  },
)

test('readOverride() stores the metadata name __proto__ as an ordinary member', () => {
  const update = set('voucher_issued', 'voucher_issued.voucher.metadata.__proto__', 'x')
  expect(JSON.stringify(update)).toContain('"__proto__":"x"')
})

test.each([
  ['message', 'message.message_id', 'one', 'a whole number'],
  ['message', 'message.message_id', '-1', 'a whole number'],
  ['message', 'message.message_id', '9007199254740993', 'a whole number'],
  ['message', 'message.from.is_bot', '1', 'true or false'],
  ['message', 'message.chat.type', 'channel', 'one of private, group'],
  ['ping', 'created_at', 'tomorrow', 'a time such as'],
  ['ping', 'created_at', '2027-02-31T99:00:00Z', 'a time such as'],
  ['ping', 'update_id', 'null', 'a whole number'],
] as const)('readOverride() refuses for a %s update the override %s=%s', (type, path, text, words) => {
  expect(readOverride(type, path, text)).toMatchObject({ ok: false, message: expect.stringContaining(words) })
})

test.each([
  ['message', 'text', 'Did you mean message.text?'],
  ['message', 'mesage.text', 'Did you mean message.text?'],
  ['message', 'message.txet', 'Did you mean message.text?'],
  ['message', 'message.from.isBot', 'Did you mean message.from.is_bot?'],
  ['voucher_issued', 'voucher.code_hint', 'Did you mean voucher_issued.voucher.codeHint?'],
  ['ping', 'ping.text', 'There are: update_id, created_at.'],
  ['ping', 'type', 'There are: update_id, created_at.'],
  ['message', 'message.from', 'Set a member of it: message.from.id, message.from.is_bot.'],
  ['message', 'message.from.id.x', 'Did you mean message.from.id?'],
  ['message', 'message.constructor', 'There are: '],
  ['voucher_issued', 'voucher_issued.voucher.metadata', 'Set a member of it: voucher_issued.voucher.metadata.NAME.'],
] as const)('readOverride() refuses for a %s update the unknown path %s with a hint', (type, path, hint) => {
  expect(readOverride(type, path, 'x')).toMatchObject({ ok: false, hint: expect.stringContaining(hint) })
})
