import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { type TestApp, testApp } from '../../support/server/app.js'
import { codeOf, newTenant } from '../../support/server/tenant.js'

let server: TestApp
beforeAll(() => {
  server = testApp()
})
afterAll(() => server.close())

const iso = (ms: number) => new Date(ms).toISOString()

describe('applications', () => {
  it('new application has the default settings, or every setting that the call names', async () => {
    const tenant = await newTenant(server)
    const at = iso(server.clock.now())
    const plain = await tenant.console(contract.apps.create, { name: 'Shop' })
    const record = {
      id: expect.stringMatching(/^app_[0-9A-HJKMNP-TV-Z]{26}$/),
      name: 'Shop',
      description: null,
      status: 'active',
      features: ['vouchers'],
      allowedOrigins: ['*'],
      secureTransport: 'optional',
      linkedBots: [],
      createdAt: at,
      updatedAt: at,
    }
    expect([plain.status, plain.data]).toEqual([201, record])
    const full = await tenant.console(contract.apps.create, {
      name: 'Café ☕',
      description: 'the one at the corner',
      allowed_origins: ['https://shop.example', 'https://[::1]:8443'],
      secure_transport: 'required',
    })
    expect(full.data).toEqual({
      ...record,
      name: 'Café ☕',
      description: 'the one at the corner',
      allowedOrigins: ['https://shop.example', 'https://[::1]:8443'],
      secureTransport: 'required',
    })
  })

  it('PATCH of an application changes only the members that it names', async () => {
    const own = testApp()
    const tenant = await newTenant(own)
    const { appId } = tenant
    const { data: before } = await tenant.console(contract.apps.get, { appId })
    own.clock.advance(5)
    const patched = await tenant.console(contract.apps.update, { appId, description: 'new' })
    expect([patched.status, patched.data]).toEqual([
      200,
      { ...before, description: 'new', updatedAt: iso(own.clock.now()) },
    ])
    expect((await tenant.console(contract.apps.update, { appId, status: 'disabled' })).data.status).toBe('disabled')
    expect((await tenant.console(contract.apps.get, { appId })).data).toMatchObject({
      description: 'new',
      status: 'disabled',
    })
    for (const status of ['suspended', 'deleted']) {
      expect((await tenant.console(contract.apps.update, { appId, status: status as 'active' })).code).toBe(
        'VALIDATION_FAILED',
      )
    }
    await own.close()
  })

  it('51st application of an account is refused; another account can still create one', async () => {
    const tenant = await newTenant(server)
    for (let have = 1; have < 50; have++) {
      expect((await tenant.console(contract.apps.create, { name: `Shop ${have}` })).status).toBe(201)
    }
    const refused = await tenant.console(contract.apps.create, { name: 'one more' })
    expect(refused).toMatchObject({ status: 409, code: 'APPLICATION_LIMIT_REACHED', details: { limit: 50 } })
    expect((await tenant.console(contract.apps.list, {})).data.pagination.total).toBe(50)
    await newTenant(server)
  })
})

describe('application tokens', () => {
  it('21st active token of an application is refused; revoked and expired tokens do not count', async () => {
    const own = testApp()
    const tenant = await newTenant(own)
    const create = (days: number) => {
      const input = { appId: tenant.appId, name: 'till', scopes: ['vouchers:read' as const], expires_in_days: days }
      return tenant.console(contract.tokens.create, input)
    }
    const first = await create(100)
    for (let have = 2; have < 20; have++) await create(1)
    expect(await create(1)).toMatchObject({ status: 409, code: 'TOKEN_LIMIT_REACHED', details: { limit: 20 } })
    await tenant.console(contract.tokens.revoke, { appId: tenant.appId, tokenId: first.data.id })
    expect((await create(100)).status).toBe(201)
    expect((await create(100)).code).toBe('TOKEN_LIMIT_REACHED')
    own.clock.advance(86_400_000)
    expect((await create(100)).status).toBe(201)
    await own.close()
  })

  it('list of application tokens contains active, expired and revoked tokens', async () => {
    const own = testApp()
    const tenant = await newTenant(own)
    const { id } = await tenant.newToken()
    await tenant.console(contract.tokens.revoke, { appId: tenant.appId, tokenId: id })
    const scopes = ['vouchers:read' as const]
    await tenant.console(contract.tokens.create, { appId: tenant.appId, name: 'short', scopes, expires_in_days: 1 })
    own.clock.advance(86_400_000)
    const { items } = (await tenant.console(contract.tokens.list, { appId: tenant.appId })).data
    expect(items.map((it) => it.status).sort()).toEqual(['active', 'expired', 'revoked'])
    await own.close()
  })

  it('list of application tokens shows the last use of each, or null for an unused token', async () => {
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
    ['no scopes', { scopes: [] }],
    ['an unknown scope', { scopes: ['vouchers:everything'] }],
    ['a duplicate scope', { scopes: ['vouchers:read', 'vouchers:read'] }],
    ['no name', { name: '' }],
    ['a lifetime of no days', { expires_in_days: 0 }],
    ['a lifetime of more than a year', { expires_in_days: 366 }],
    ['a lifetime of half a day', { expires_in_days: 0.5 }],
    ['a lifetime given as text', { expires_in_days: '30' }],
  ])('creation of an application token with %s is refused with 400', async (_what, overrides) => {
    const tenant = await newTenant(server)
    const input = { appId: tenant.appId, name: 'till', scopes: ['vouchers:read'], ...overrides }
    expect((await tenant.console(contract.tokens.create, input as never)).code).toBe('VALIDATION_FAILED')
  })

  it('creation of an application token without scopes is refused', async () => {
    const tenant = await newTenant(server)
    const response = await tenant.console(contract.tokens.create, { appId: tenant.appId, name: 'till' } as never)
    expect(response.details.errors).toMatchObject([{ pointer: '/scopes', code: 'required' }])
  })
})

it('unused vouchers remain valid after the token that issued them is revoked', async () => {
  const tenant = await newTenant(server)
  const voucher = await tenant.issue()
  const { call } = await tenant.newToken()
  await tenant.console(contract.tokens.revoke, { appId: tenant.appId, tokenId: tenant.tokenId })
  expect((await call(contract.vouchers.verify, { credential: codeOf(voucher) })).data.redeemable).toBe(true)
})
