import { describe, expect, it } from 'vitest'
import {
  type ApplicationRow,
  type ApplicationSettings,
  applicationRecord,
  applicationStatus,
  newApplication,
  newToken,
  type RuntimeCallerRow,
  refuseForApplication,
  refuseRuntimeCall,
  type TokenRow,
  tokenRecord,
  tokenStatus,
} from '../../src/domain/application.js'

const NOW = Date.UTC(2027, 2, 1)

const caller = (overrides: Partial<RuntimeCallerRow> = {}): RuntimeCallerRow => ({
  token_id: 'tok_1',
  scopes: '["vouchers:read"]',
  expires_at: null,
  revoked_at: null,
  application_id: 'app_1',
  account_id: 'acc',
  status: 'active',
  suspended: 0,
  features: '["vouchers"]',
  secure_transport: 'optional',
  allowed_origins: '["*"]',
  ...overrides,
})

describe('application status', { tags: 'applications/2' }, () => {
  it('application has the status that its owner set, unless it is suspended', () => {
    expect(applicationStatus({ status: 'active', suspended: 0 })).toBe('active')
    expect(applicationStatus({ status: 'disabled', suspended: 0 })).toBe('disabled')
  })
  it('status of a suspended application is suspended whatever status its owner set', () => {
    expect(applicationStatus({ status: 'active', suspended: 1 })).toBe('suspended')
    expect(applicationStatus({ status: 'disabled', suspended: 1 })).toBe('suspended')
  })
})

describe('token status', { tags: 'application-tokens/2' }, () => {
  it('application token expires at expires_at, not a millisecond earlier', { tags: 'failure-codes/1' }, () => {
    expect(tokenStatus({ expires_at: NOW, revoked_at: null }, NOW - 1)).toBe('active')
    expect(tokenStatus({ expires_at: NOW, revoked_at: null }, NOW)).toBe('expired')
  })
  it('application token without expires_at never expires', () =>
    expect(tokenStatus({ expires_at: null, revoked_at: null }, Number.MAX_SAFE_INTEGER)).toBe('active'))
  it('status of a revoked application token stays revoked, not expired, after expires_at', () =>
    expect(tokenStatus({ expires_at: NOW, revoked_at: NOW - 5 }, NOW + 5)).toBe('revoked'))
})

describe('authorization of a runtime call', () => {
  it('runtime call is allowed for a token with the required scope', () =>
    expect(refuseRuntimeCall(caller(), 'vouchers:read', NOW)).toBeNull())
  it('runtime call that requires no scope is allowed for any active token', () =>
    expect(refuseRuntimeCall(caller(), undefined, NOW)).toBeNull())

  /** Reasons to refuse a runtime call with their failure codes, in order of precedence. */
  const obstacles: [string, Partial<RuntimeCallerRow>][] = [
    ['TOKEN_REVOKED', { revoked_at: NOW - 1 }],
    ['TOKEN_EXPIRED', { expires_at: NOW }],
    ['APPLICATION_DISABLED', { status: 'disabled' }],
    ['FEATURE_UNAVAILABLE', { features: '[]' }],
    ['INSUFFICIENT_SCOPE', { scopes: '["vouchers:redeem"]' }],
  ]

  it('runtime call without its scope is refused with the name of the scope', () =>
    expect(refuseRuntimeCall(caller({ scopes: '[]' }), 'vouchers:read', NOW)).toEqual({
      ok: false,
      code: 'INSUFFICIENT_SCOPE',
      details: { required_scope: 'vouchers:read' },
    }))

  it('runtime call with an unknown token is refused with TOKEN_INVALID', () =>
    expect(refuseRuntimeCall(undefined, 'vouchers:read', NOW)).toMatchObject({ code: 'TOKEN_INVALID' }))

  for (const [index, [code, overrides]] of obstacles.entries()) {
    it(`runtime call is refused with ${code} even if later reasons apply`, { tags: 'order-of-checks/2' }, () => {
      expect(refuseRuntimeCall(caller(overrides), 'vouchers:read', NOW)).toMatchObject({ ok: false, code })
      for (const [, later] of obstacles.slice(index + 1)) {
        expect(refuseRuntimeCall(caller({ ...later, ...overrides }), 'vouchers:read', NOW)).toMatchObject({ code })
      }
    })
  }

  it('runtime call of a suspended application gets APPLICATION_DISABLED with the status', () =>
    expect(refuseRuntimeCall(caller({ suspended: 1 }), 'vouchers:read', NOW)).toMatchObject({
      code: 'APPLICATION_DISABLED',
      details: { status: 'suspended' },
    }))

  it('scope vouchers:templates:write does not grant the scope vouchers:templates', () => {
    const row = caller({ scopes: '["vouchers:templates:write"]' })
    expect(refuseRuntimeCall(row, 'vouchers:templates', NOW)).toMatchObject({ code: 'INSUFFICIENT_SCOPE' })
    expect(refuseRuntimeCall(row, 'vouchers:templates:write', NOW)).toBeNull()
  })
})

describe('policy of an application', () => {
  const code = (policy: Partial<RuntimeCallerRow>, origin: string | null) =>
    refuseForApplication(caller(policy), origin)?.code

  it('application that requires encryption refuses a call in plain text', { tags: 'failure-codes/2' }, () => {
    expect(code({ secure_transport: 'required' }, null)).toBe('SECURE_TRANSPORT_REQUIRED')
    expect(code({ secure_transport: 'required' }, '')).toBeUndefined()
  })

  it('list of origins without * refuses encrypted sessions of other origins and of none', () => {
    const policy = { allowed_origins: '["https://a.example"]' }
    expect(code(policy, 'https://a.example')).toBeUndefined()
    expect(code(policy, 'https://b.example')).toBe('ORIGIN_NOT_ALLOWED')
    expect(code(policy, '')).toBe('ORIGIN_NOT_ALLOWED')
    expect(code(policy, null)).toBeUndefined()
    expect(code({ allowed_origins: '[""]' }, '')).toBe('ORIGIN_NOT_ALLOWED')
    expect(code({ allowed_origins: '["https://a.example","*"]' }, 'https://b.example')).toBeUndefined()
  })

  it('runtime call passes the origin of its encrypted session to the policy', () => {
    const row = caller({ allowed_origins: '["https://a.example"]' })
    expect(refuseRuntimeCall(row, 'vouchers:read', NOW, 'https://b.example')?.code).toBe('ORIGIN_NOT_ALLOWED')
    expect(refuseRuntimeCall(row, 'vouchers:read', NOW)).toBeNull()
  })
})

describe('new applications and tokens', () => {
  it('new application has defaults for every absent setting', () =>
    expect(newApplication('app_1', 'acc', { name: 'Shop' }, NOW)).toEqual({
      id: 'app_1',
      account_id: 'acc',
      name: 'Shop',
      description: null,
      status: 'active',
      suspended: 0,
      features: '["vouchers"]',
      allowed_origins: '["*"]',
      secure_transport: 'optional',
      created_at: NOW,
      updated_at: NOW,
    }))

  it('new application has the settings of its owner', () => {
    const settings: ApplicationSettings & { name: string } = {
      name: 'Shop',
      description: 'Beans',
      status: 'disabled',
      allowed_origins: [],
      secure_transport: 'required',
    }
    expect(newApplication('app_1', 'acc', settings, NOW)).toMatchObject({ ...settings, allowed_origins: '[]' })
  })

  it('new token stores hash and display parts, and expires after whole days', { tags: 'application-tokens/2' }, () => {
    const token = 'sop_H2vnBHm8qRswhqyGP9YwWaViK5H3pi3nHPiJ'
    const row = newToken('tok_1', 'app_1', { name: 'till', token, scopes: ['vouchers:read'], days: 2 }, NOW)
    expect(row).toEqual({
      id: 'tok_1',
      application_id: 'app_1',
      name: 'till',
      token_hash: expect.stringMatching(/^[\w-]{43}$/),
      token_prefix: 'sop_H2vn',
      last4: 'HPiJ',
      scopes: '["vouchers:read"]',
      created_at: NOW,
      expires_at: NOW + 2 * 86_400_000,
      last_used_at: null,
      revoked_at: null,
    })
    expect(newToken('tok_1', 'app_1', { name: 'till', token, scopes: [], days: null }, NOW).expires_at).toBeNull()
  })
})

describe('records of applications and tokens', () => {
  it('response for an application has its settings and no account id', () => {
    const row: ApplicationRow = {
      id: 'app_1',
      account_id: 'acc',
      name: 'Shop',
      description: null,
      status: 'disabled',
      suspended: 0,
      features: '["vouchers"]',
      allowed_origins: '["*"]',
      secure_transport: 'required',
      created_at: NOW,
      updated_at: NOW + 1,
    }
    const linked = { botId: 'bot_1', username: 'coffee_bot', linkedAt: '2027-03-01T00:00:00.000Z' }
    expect(applicationRecord(row, [linked])).toEqual({
      id: 'app_1',
      name: 'Shop',
      description: null,
      status: 'disabled',
      features: ['vouchers'],
      allowedOrigins: ['*'],
      secureTransport: 'required',
      linkedBots: [linked],
      createdAt: '2027-03-01T00:00:00.000Z',
      updatedAt: '2027-03-01T00:00:00.001Z',
    })
  })

  it('response for an application token has prefix, last four and timestamps, but no hash', () => {
    const row: TokenRow = {
      id: 'tok_1',
      application_id: 'app_1',
      name: 'till',
      token_hash: 'HASH',
      token_prefix: 'sop_abcd',
      last4: 'wxyz',
      scopes: '["vouchers:read"]',
      created_at: NOW,
      expires_at: NOW + 1_000,
      last_used_at: NOW + 2,
      revoked_at: null,
    }
    const record = tokenRecord(row, NOW)
    expect(record).toEqual({
      id: 'tok_1',
      name: 'till',
      tokenPrefix: 'sop_abcd',
      last4: 'wxyz',
      scopes: ['vouchers:read'],
      status: 'active',
      createdAt: '2027-03-01T00:00:00.000Z',
      expiresAt: '2027-03-01T00:00:01.000Z',
      lastUsedAt: '2027-03-01T00:00:00.002Z',
      revokedAt: null,
    })
    expect(JSON.stringify(record)).not.toContain('HASH')
  })
})
