import { describe, expect, it } from 'vitest'
import { platformPayload, platformUpdateIssues } from '../../../src/domain/bot/platform-update.js'

const from = { id: 'ann' }
const LATEST_SECOND = 253_402_300_799

describe('payload of an update that the operator creates', () => {
  it.each([
    ['friend_request', { from }],
    ['friend_request', { id: 'x'.repeat(128), from: { id: '!', is_bot: false }, date: 0 }],
    ['friend_request', { from, date: LATEST_SECOND }],
    ['inline_query', { from, query: '' }],
    ['inline_query', { from, query: '🎟'.repeat(256) }],
    ['ping', {}],
    ['ping', undefined],
  ] as const)('payload of a %s update is accepted: %j', (type, payload) => {
    expect(platformUpdateIssues({ type, ...(payload && { payload }) })).toEqual([])
  })

  const wrongId = 'must be 1 to 128 visible ASCII characters without spaces'
  const wrongUser = 'must be { "id": "…" }, an id of 1 to 128 visible ASCII characters'
  const wrongDate = 'must be a time in whole Unix seconds'
  const wrongQuery = 'must be text of 0 to 256 characters without control characters or bidi overrides'
  it.each([
    ['id', '', wrongId],
    ['id', 'a b', wrongId],
    ['id', 'x'.repeat(129), wrongId],
    ['id', 1, wrongId],
    ['from', 'ann', wrongUser],
    ['from', null, wrongUser],
    ['from', ['ann'], wrongUser],
    ['from', Object.assign(['ann'], from), wrongUser],
    ['from', {}, wrongUser],
    ['from', { id: 'a b' }, wrongUser],
    ['from', { id: 'ann', is_bot: true }, wrongUser],
    ['from', { id: 'ann', name: 'Ann' }, wrongUser],
    ['date', -1, wrongDate],
    ['date', 0.5, wrongDate],
    ['date', '0', wrongDate],
    ['date', LATEST_SECOND + 1, wrongDate],
    ['query', 7, wrongQuery],
    ['query', 'a\u0000', wrongQuery],
    ['query', 'x'.repeat(257), wrongQuery],
  ])('member %s of the payload is refused with the value %j', (member, value, message) => {
    const type = member === 'query' ? 'inline_query' : 'friend_request'
    const payload = { from, ...(type === 'inline_query' && { query: '' }), [member]: value }
    expect(platformUpdateIssues({ type, payload })).toEqual([
      { pointer: `/payload/${member}`, code: 'format', message },
    ])
  })

  it('payload without a required member, or with an unknown one, is refused', () => {
    const required = { code: 'required', message: 'is required' }
    expect(platformUpdateIssues({ type: 'inline_query' })).toEqual([
      { pointer: '/payload/from', ...required },
      { pointer: '/payload/query', ...required },
    ])
    expect(platformUpdateIssues({ type: 'ping', payload: { 'a/b': 1 } })).toEqual([
      { pointer: '/payload/a~1b', code: 'additionalProperties', message: 'is not known here' },
    ])
  })
})

describe('payload that the bot receives', () => {
  const sender = { id: 'new', from: { id: 'ann', is_bot: false } }
  const payloadOf = (update: Parameters<typeof platformPayload>[0]) => platformPayload(update, () => 'new', 5_999)

  it('payload gets a new id and the present second unless the operator chose them', () => {
    expect(payloadOf({ type: 'friend_request', payload: { from } })).toEqual({ ...sender, date: 5 })
    expect(payloadOf({ type: 'friend_request', payload: { from, id: 'own', date: 0 } })).toEqual({
      ...sender,
      id: 'own',
      date: 0,
    })
    expect(payloadOf({ type: 'inline_query', payload: { from, query: 'tea' } })).toEqual({ ...sender, query: 'tea' })
    expect(payloadOf({ type: 'ping' })).toEqual({})
  })
})
