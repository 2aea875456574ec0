import fc from 'fast-check'
import { expect, test } from 'vitest'
import { buildRequest } from '../../src/client/prepare.js'
import * as apps from '../../src/contract/apps.js'
import * as templates from '../../src/contract/templates.js'
import * as tokens from '../../src/contract/tokens.js'
import * as vouchers from '../../src/contract/vouchers.js'
import { anyCharacter } from '../support/any-character.js'

test('the body of a POST holds the input members', () => {
  const credential = { type: 'redeem_code', value: 'ABCD' }
  expect(buildRequest(vouchers.redeem, { credential, reference: 'till 7' })).toEqual({
    ok: true,
    method: 'POST',
    path: '/api/v1/open-platform/vouchers/redeem',
    body: JSON.stringify({ credential, reference: 'till 7' }),
  })
})

test('path parameters are percent-encoded and left out of the body', () => {
  expect(buildRequest(tokens.revoke, { appId: 'a/b', tokenId: 'é %?#' })).toEqual({
    ok: true,
    method: 'DELETE',
    path: '/api/v1/open-platform/applications/a%2Fb/tokens/%C3%A9%20%25%3F%23',
  })
})

test('input members of a GET that are not path parameters become its query', () => {
  expect(buildRequest(templates.list, { page: 2, status: 'active', limit: undefined })).toEqual({
    ok: true,
    method: 'GET',
    path: '/api/v1/open-platform/vouchers/templates?page=2&status=active',
  })
})

test('an empty body is sent only where the endpoint requires a body', () => {
  expect(buildRequest(vouchers.reverse, { redemptionId: 'rdm_1', reason: undefined })).not.toHaveProperty('body')
  expect(buildRequest(vouchers.reverse, { redemptionId: 'rdm_1', reason: 'wrong till' })).toHaveProperty(
    'body',
    '{"reason":"wrong till"}',
  )
  expect(buildRequest(vouchers.issue, {})).toHaveProperty('body', '{}')
})

test('unknown input members are sent, so that the server can reject them', () => {
  expect(buildRequest(vouchers.issue, { external_isue_id: '1' })).toHaveProperty('body', '{"external_isue_id":"1"}')
  expect(buildRequest(apps.get, { appId: 'a', pgae: 1 })).toHaveProperty(
    'path',
    '/api/v1/open-platform/applications/a?pgae=1',
  )
})

test.each([undefined, null, '', '.', '..', '\ud800'])(
  'a failure for the invalid path parameter %j names the parameter',
  (redemptionId) => {
    expect(buildRequest(vouchers.getRedemption, { redemptionId })).toMatchObject({
      ok: false,
      details: { parameter: 'redemptionId' },
    })
  },
)

test('a URL parser reads any path parameter as exactly one path segment', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, minLength: 1 }), (redemptionId) => {
      const built = buildRequest(vouchers.getRedemption, { redemptionId })
      if (!built.ok) return expect(['.', '..']).toContain(redemptionId)
      const { pathname, search, hash } = new URL(built.path, 'http://x')
      expect(search + hash).toBe('')
      const prefix = '/api/v1/open-platform/vouchers/redemptions/'
      expect(pathname.startsWith(prefix)).toBe(true)
      expect(decodeURIComponent(pathname.slice(prefix.length))).toBe(redemptionId)
      expect(pathname.slice(prefix.length)).not.toContain('/')
    }),
  )
})
