import { describe, expect, it } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { sharedApp, testApp } from '../../support/server/app.js'
import { codeOf, newTenant } from '../../support/server/tenant.js'

const server = sharedApp()

const iso = (ms: number) => new Date(ms).toISOString()

describe('application tokens', () => {
  it('list of application tokens shows the last use of each, or null', { tags: 'application-tokens/3' }, async () => {
    const own = testApp()
    const tenant = await newTenant(own)
    const used = async () =>
      (await tenant.console(contract.tokens.list, { appId: tenant.appId })).data.items[0]?.lastUsedAt
    expect(await used()).toBeNull()
    own.clock.advance(7)
    await tenant.runtime(contract.templates.list, {})
    expect(await used()).toBe(iso(own.clock.now()))
    await own.close()
  })

  it.each([
    ['a duplicate scope', { scopes: ['vouchers:read', 'vouchers:read'] }],
    ['a lifetime of half a day', { expires_in_days: 0.5 }],
    ['a lifetime given as text', { expires_in_days: '30' }],
  ])('creation of an application token with %s is refused with 400', async (_what, overrides) => {
    const tenant = await newTenant(server)
    const input = { appId: tenant.appId, name: 'till', scopes: ['vouchers:read'], ...overrides }
    expect((await tenant.console(contract.tokens.create, input as never)).code).toBe('VALIDATION_FAILED')
  })
})

it('revoked token gets 401; its vouchers remain', { tags: ['application-tokens/1', 'bodies/1'] }, async () => {
  const tenant = await newTenant(server)
  const voucher = await tenant.issue()
  const { call } = await tenant.newToken()
  const revoked = await tenant.console(contract.tokens.revoke, { appId: tenant.appId, tokenId: tenant.tokenId })
  expect(revoked.text).toContain('"status":"revoked"')
  expect((await tenant.runtime(contract.templates.list, {})).status).toBe(401)
  expect((await call(contract.vouchers.verify, { credential: codeOf(voucher) })).data.redeemable).toBe(true)
})
