import fc from 'fast-check'
import { expect, test } from 'vitest'
import { buildRequest } from '../../src/client/call.js'
import { apps } from '../../src/contract/apps.js'
import { templates } from '../../src/contract/templates.js'
import { tokens } from '../../src/contract/tokens.js'
import { vouchers } from '../../src/contract/vouchers.js'
import { anyCharacter } from '../support/any-character.js'

test('buildRequest puts the input members of a POST endpoint in the body', () => {
  const credential = { type: 'redeem_code', value: 'ABCD' }
  expect(buildRequest(vouchers.redeem, { credential, reference: 'till 7' })).toEqual({
    ok: true,
    method: 'POST',
    path: '/api/v1/open-platform/vouchers/redeem',
    body: JSON.stringify({ credential, reference: 'till 7' }),
  })
})

test('buildRequest percent-encodes path parameters and omits them from the body', () => {
  expect(buildRequest(tokens.revoke, { appId: 'a/b', tokenId: 'é %?#' })).toEqual({
    ok: true,
    method: 'DELETE',
    path: '/api/v1/open-platform/applications/a%2Fb/tokens/%C3%A9%20%25%3F%23',
  })
})

test('buildRequest puts input members of a GET that are not path parameters in the query', () => {
  expect(buildRequest(templates.list, { page: 2, status: 'active', limit: undefined })).toEqual({
    ok: true,
    method: 'GET',
    path: '/api/v1/open-platform/vouchers/templates?page=2&status=active',
  })
})

test('buildRequest adds an empty body only for an endpoint that requires a body', () => {
  expect(buildRequest(vouchers.reverse, { redemptionId: 'rdm_1', reason: undefined })).not.toHaveProperty('body')
  expect(buildRequest(vouchers.reverse, { redemptionId: 'rdm_1', reason: 'wrong till' })).toHaveProperty(
    'body',
    '{"reason":"wrong till"}',
  )
  expect(buildRequest(vouchers.issue, {})).toHaveProperty('body', '{}')
})

test('buildRequest keeps unknown input members, so that the server can reject them', () => {
  expect(buildRequest(vouchers.issue, { external_isue_id: '1' })).toHaveProperty('body', '{"external_isue_id":"1"}')
  expect(buildRequest(apps.get, { appId: 'a', pgae: 1 })).toHaveProperty(
    'path',
    '/api/v1/open-platform/applications/a?pgae=1',
  )
})

test.each([undefined, null, '', '.', '..', '\ud800'])(
  'buildRequest names the path parameter whose value %j is invalid',
  (redemptionId) => {
    expect(buildRequest(vouchers.redemption, { redemptionId })).toMatchObject({
      ok: false,
      details: { parameter: 'redemptionId' },
    })
  },
)

test('buildRequest encodes any path parameter as exactly one segment of the URL path', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, minLength: 1 }), (redemptionId) => {
      const built = buildRequest(vouchers.redemption, { redemptionId })
      if (!built.ok) return expect(['.', '..']).toContain(redemptionId)
      const { pathname, search, hash } = new URL(built.path, 'http://x')
      expect(search + hash).toBe('')
      const prefix = '/api/v1/open-platform/vouchers/redemptions/'
      expect(pathname.startsWith(prefix)).toBe(true)
      expect(decodeURIComponent(pathname.slice(prefix.length))).toBe(redemptionId)
      expect(pathname.slice(prefix.length)).not.toContain('/')
    }),
    { seed: 1 },
  )
})
