import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { newToken, type TokenRow } from '../../src/domain/application.js'
import { hashToken } from '../../src/domain/tokens.js'
import * as apps from '../../src/store/apps.js'
import type { Store } from '../../src/store/store.js'
import * as tokens from '../../src/store/tokens.js'
import { openTestStore } from '../support/store/engines.js'
import { locksOf, stepsOf } from '../support/store/store-steps.js'

const NOW = 10_000
const LATER = 20_000

let store: Store
beforeEach(async () => {
  store = openTestStore()
  for (const id of ['app_1', 'app_2']) await store.write(() => apps.create('acc', id, { name: id }, NOW))
})
afterEach(() => store.close())

const tokenRow = (id: string, overrides: Partial<TokenRow> = {}): TokenRow => ({
  ...newToken(id, 'app_1', { name: id, token: `voc_${id}`, scopes: ['vouchers:read'], days: null }, NOW),
  ...overrides,
})
const create = (id: string, overrides: Partial<TokenRow> = {}, limit?: number) =>
  store.write(() => tokens.create('acc', tokenRow(id, overrides), NOW, limit))
const listed = async (appId = 'app_1') => {
  const page = await store.read(() => tokens.list('acc', appId, {}, LATER))
  if ('ok' in page) throw new Error(page.code)
  return page.items
}

describe('limit of active tokens', () => {
  it('token creation is refused at the limit of its own application', { tags: 'application-tokens/2' }, async () => {
    await create('tok_1', {}, 1)
    const refused = { ok: false, code: 'TOKEN_LIMIT_REACHED', details: { limit: 1 } }
    expect(await create('tok_2', {}, 1)).toMatchObject(refused)
    expect(await create('tok_3', { application_id: 'app_2' }, 1)).toMatchObject({ id: 'tok_3', status: 'active' })
  })

  it('revoked and expired tokens do not count towards the limit', { tags: 'application-tokens/2' }, async () => {
    await create('tok_revoked', { revoked_at: NOW })
    await create('tok_expired', { expires_at: NOW })
    await create('tok_expiring', { expires_at: NOW + 1 })
    expect(await create('tok_1', {}, 1)).toMatchObject({ code: 'TOKEN_LIMIT_REACHED' })
    expect(await create('tok_1', {}, 2)).toMatchObject({ id: 'tok_1' })
  })
})

describe('owner of tokens', () => {
  it('list has no tokens of another application or account', { tags: 'credential-kinds/1' }, async () => {
    await create('tok_1')
    await create('tok_2', { application_id: 'app_2' })
    expect((await listed()).map(({ id }) => id)).toEqual(['tok_1'])
    expect(await store.read(() => tokens.list('other', 'app_1', {}, NOW))).toMatchObject({
      code: 'APPLICATION_NOT_FOUND',
    })
  })

  it('another account or application cannot create or revoke a token', { tags: 'credential-kinds/1' }, async () => {
    await create('tok_1')
    const revoke = (accountId: string, appId: string, tokenId: string) =>
      store.write(() => tokens.revoke(accountId, appId, tokenId, LATER))
    const notFound = { code: 'APPLICATION_NOT_FOUND' }
    expect(await store.write(() => tokens.create('other', tokenRow('tok_2'), NOW))).toMatchObject(notFound)
    expect(await revoke('other', 'app_1', 'tok_1')).toMatchObject(notFound)
    expect(await revoke('acc', 'app_2', 'tok_1')).toMatchObject({ code: 'TOKEN_NOT_FOUND' })
    expect(await revoke('acc', 'app_1', 'tok_2')).toMatchObject({ code: 'TOKEN_NOT_FOUND' })
    expect(await listed()).toMatchObject([{ id: 'tok_1', status: 'active' }])
  })
})

it('caller of a token is the token with its application; an unknown hash has none', async () => {
  await create('tok_1')
  expect(await store.read(() => tokens.callerByHash(hashToken('voc_tok_1')))).toEqual({
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
  })
  expect(await store.read(() => tokens.callerByHash(hashToken('voc_tok_2')))).toBeUndefined()
})

it('repeated revocation keeps the time of the first and writes nothing', { tags: 'application-tokens/3' }, async () => {
  await create('tok_1')
  await create('tok_2')
  const revoke = (now: number) => tokens.revoke('acc', 'app_1', 'tok_1', now)
  const revoked = { id: 'tok_1', status: 'revoked', revokedAt: new Date(NOW).toISOString() }
  expect(await store.write(() => revoke(NOW))).toMatchObject(revoked)
  const again = await stepsOf(store, () => revoke(LATER))
  expect(again.filter(({ kind }) => kind === 'run')).toEqual([])
  expect(await store.write(() => revoke(LATER))).toMatchObject(revoked)
  expect(await listed()).toMatchObject([{ id: 'tok_2', status: 'active' }, revoked])
})

describe('last use of a token', () => {
  const save = (...uses: [string, number][]) => store.write(() => tokens.saveLastUses(new Map(uses)))
  const lastUse = async () => (await listed())[0]?.lastUsedAt

  it('last use of a token moves forward only', async () => {
    await create('tok_1')
    await save(['tok_1', NOW])
    expect(await lastUse()).toBe(new Date(NOW).toISOString())
    await save(['tok_1', NOW - 1])
    expect(await lastUse()).toBe(new Date(NOW).toISOString())
    await save(['tok_1', LATER])
    expect(await lastUse()).toBe(new Date(LATER).toISOString())
  })

  it('last uses are written in the order of token ids, so that two processes do not deadlock', async () => {
    const uses = new Map([
      ['tok_2', NOW],
      ['tok_1', LATER],
    ])
    const steps = await stepsOf(store, () => tokens.saveLastUses(uses))
    expect(steps).toMatchObject([{ params: ['tok_1', LATER] }, { params: ['tok_2', NOW] }])
  })
})

describe('locks of token operations', () => {
  it('creation and revocation lock the application, and revocation the token', async () => {
    const make = () => tokens.create('acc', tokenRow('tok_1'), NOW)
    expect(await locksOf(store, make)).toEqual(['row applications'])
    const revoke = () => tokens.revoke('acc', 'app_1', 'tok_1', NOW)
    expect(await locksOf(store, revoke)).toEqual(['row applications', 'row tokens'])
  })
})
