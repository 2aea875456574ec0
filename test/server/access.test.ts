import { SignJWT } from 'jose'
import { beforeAll, describe, expect, it } from 'vitest'
import { contract, endpoints } from '../../src/contract/index.js'
import { accountKey, START_MS, sharedApp } from '../support/server/app.js'
import { wireOf } from '../support/server/client.js'
import { samples } from '../support/server/scene.js'
import { newTenant } from '../support/server/tenant.js'
import { newDelivery } from '../support/server/webhooks.js'

const server = sharedApp()

describe('objects of another tenant', () => {
  it('bot of another account is unknown, whatever its state and scopes', { tags: 'credential-kinds/1' }, async () => {
    const [tenant, stranger] = [await newTenant(server), await newTenant(server)]
    for (const { id: botId } of [await stranger.appliedBot(), await stranger.bot(['messages:send'])]) {
      for (const endpoint of [contract.bots.metrics, contract.bots.regenerateToken, contract.bots.templates]) {
        expect((await tenant.console(endpoint, { botId })).code).toBe('BOT_NOT_FOUND')
      }
    }
    const [botId, deliveryId] = [(await tenant.bot()).id, (await newDelivery(stranger, await stranger.bot())).id]
    expect((await tenant.console(contract.webhook.retry, { botId, deliveryId })).code).toBe('DELIVERY_NOT_FOUND')
  })
})

describe('application tokens', () => {
  const list = (credential: string) => {
    const wire = wireOf(contract.templates.list)
    return server.send({ ...wire, headers: { authorization: credential } })
  }

  it('Authorization scheme is case-insensitive and may be followed by several spaces', async () => {
    const { token } = await newTenant(server)
    for (const value of [`bearer ${token}`, `BEARER   ${token}`, `Bearer ${token} `]) {
      expect((await list(value)).status).toBe(200)
    }
  })
})

describe('inactive applications', () => {
  it('console calls reach inactive applications but cannot lift a suspension', { tags: 'applications/2' }, async () => {
    const tenant = await newTenant(server)
    const { appId } = tenant
    await tenant.operator(contract.platform.suspendApp, { appId })
    expect((await tenant.console(contract.apps.update, { appId, status: 'active' })).data.status).toBe('suspended')
    expect((await tenant.console(contract.tokens.list, { appId })).status).toBe(200)
  })
})

describe('account tokens', () => {
  const read = async (jwt: string) => {
    const response = await server.send({ ...wireOf(contract.apps.list), headers: { authorization: `Bearer ${jwt}` } })
    return response.code
  }
  const now = START_MS / 1000 + 3_600
  beforeAll(() => server.clock.advance(START_MS + 3_600_000 - server.clock.now()))
  const sign = (claims: Record<string, unknown>, key: Uint8Array = accountKey, alg = 'HS256') =>
    new SignJWT({ sub: 'acc', aud: 'voucher-console', exp: now + 60, ...claims }).setProtectedHeader({ alg }).sign(key)
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

  it('server accepts a fresh account JWT signed with its own key', async () =>
    expect(await read(await sign({}))).toBeNull())

  it.each([
    ['another audience', { aud: 'voucher-shop' }],
    ['no audience', { aud: undefined }],
    ['no expiry', { exp: undefined }],
    ['no subject', { sub: undefined }],
    ['an empty subject', { sub: '' }],
    ['a subject with spaces', { sub: 'a b' }],
    ['a start in the future', { nbf: now + 60 }],
  ])('account JWT with %s is refused as TOKEN_INVALID', { tags: 'account-tokens/2' }, async (_what, claims) =>
    expect(await read(await sign(claims))).toBe('TOKEN_INVALID'),
  )

  it('expired account JWT is refused as TOKEN_EXPIRED', { tags: 'failure-codes/1' }, async () => {
    expect(await read(await sign({ exp: now }))).toBe('TOKEN_EXPIRED')
    expect(await read(await sign({ exp: now + 1 }))).toBeNull()
  })

  it('account JWT unsigned or of another key or algorithm is refused', { tags: 'account-tokens/1' }, async () => {
    const claims = { sub: 'acc', aud: 'voucher-console', exp: now + 60 }
    expect(await read(await sign({}, new Uint8Array(32)))).toBe('TOKEN_INVALID')
    expect(await read(await sign({}, Buffer.concat([accountKey, accountKey]), 'HS512'))).toBe('TOKEN_INVALID')
    for (const alg of ['none', 'None', 'NONE']) {
      expect(await read(`${encode({ alg })}.${encode(claims)}.`)).toBe('TOKEN_INVALID')
      expect(await read(`${encode({ alg })}.${encode(claims)}.AA`)).toBe('TOKEN_INVALID')
    }
  })

  it('operator issues account tokens with the requested lifetime', { tags: 'operator-api/1' }, async () => {
    const tenant = await newTenant(server)
    const make = (seconds?: number) =>
      tenant.operator(contract.platform.issueAccountToken, {
        accountId: 'acc-1',
        ...(seconds === undefined ? {} : { expires_in_seconds: seconds }),
      })
    const { now: at } = (await tenant.operator(contract.platform.getClock, {})).data
    const inSeconds = async (seconds?: number) =>
      (Date.parse((await make(seconds)).data.expires_at) - Date.parse(at)) / 1000
    expect([await inSeconds(), await inSeconds(60), await inSeconds(31_536_000)]).toEqual([86_400, 60, 31_536_000])
    for (const seconds of [59, 31_536_001, 60.5]) expect((await make(seconds)).code).toBe('VALIDATION_FAILED')
    for (const accountId of ['a b', 'x'.repeat(65), 'é']) {
      expect((await tenant.operator(contract.platform.issueAccountToken, { accountId })).code).toBe('VALIDATION_FAILED')
    }
  })
})

it('every endpoint has a sample call in test/support/server/scene.ts', () =>
  expect(Object.keys(samples).sort()).toEqual(endpoints.map((it) => it.id).sort()))
