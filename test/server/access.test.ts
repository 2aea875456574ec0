import { SignJWT } from 'jose'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Endpoint } from '../../src/contract/endpoint.js'
import { contract, endpoints } from '../../src/contract/index.js'
import { accountKey, START_MS, sharedApp } from '../support/server/app.js'
import { newChat } from '../support/server/chats.js'
import { type ApiResponse, wireOf } from '../support/server/client.js'
import { Scene, samples, unknownCredential } from '../support/server/scene.js'
import { codeOf, newTenant, type Tenant } from '../support/server/tenant.js'
import { newDelivery } from '../support/server/webhooks.js'

const server = sharedApp()

/** The parts of a response that could tell a caller whether a refused object exists. */
const seen = (response: ApiResponse) => {
  const { date: _date, 'x-request-id': _id, ...headers } = response.headers
  return { status: response.status, headers, text: response.sameness }
}

describe('objects of another tenant', () => {
  /** Each endpoint that takes an id, with the member that holds it and a way to create one. */
  const ids: [Endpoint, string, string, (tenant: Tenant) => Promise<string>][] = [
    [contract.apps.get, 'appId', 'APPLICATION_NOT_FOUND', async ({ appId }) => appId],
    [contract.apps.update, 'appId', 'APPLICATION_NOT_FOUND', async ({ appId }) => appId],
    [contract.tokens.list, 'appId', 'APPLICATION_NOT_FOUND', async ({ appId }) => appId],
    [contract.tokens.create, 'appId', 'APPLICATION_NOT_FOUND', async ({ appId }) => appId],
    [contract.tokens.revoke, 'appId', 'APPLICATION_NOT_FOUND', async ({ appId }) => appId],
    [contract.tokens.revoke, 'tokenId', 'TOKEN_NOT_FOUND', async ({ tokenId }) => tokenId],
    [contract.templates.submit, 'templateId', 'TEMPLATE_NOT_FOUND', async (tenant) => (await tenant.draft()).id],
    [contract.apps.linkBot, 'appId', 'APPLICATION_NOT_FOUND', async ({ appId }) => appId],
    [contract.apps.linkBot, 'botId', 'BOT_NOT_FOUND', async (tenant) => (await tenant.bot()).id],
    [contract.apps.unlinkBot, 'appId', 'APPLICATION_NOT_FOUND', async ({ appId }) => appId],
    [contract.apps.unlinkBot, 'botId', 'BOT_NOT_FOUND', async (tenant) => (await tenant.linkedBot()).id],
    [contract.bots.get, 'botId', 'BOT_NOT_FOUND', async (tenant) => (await tenant.approvedBot()).id],
    [contract.bots.update, 'botId', 'BOT_NOT_FOUND', async (tenant) => (await tenant.appliedBot()).id],
    [contract.bots.regenerateToken, 'botId', 'BOT_NOT_FOUND', async (tenant) => (await tenant.bot()).id],
    [contract.bots.metrics, 'botId', 'BOT_NOT_FOUND', async (tenant) => (await tenant.appliedBot()).id],
    [contract.bots.templates, 'botId', 'BOT_NOT_FOUND', async (tenant) => (await tenant.bot(['messages:send'])).id],
    [contract.bots.createTemplate, 'botId', 'BOT_NOT_FOUND', async (tenant) => (await tenant.bot()).id],
    [contract.bots.submitTemplate, 'botId', 'BOT_NOT_FOUND', async (tenant) => (await tenant.linkedBot()).id],
    [contract.bots.submitTemplate, 'templateId', 'TEMPLATE_NOT_FOUND', async (tenant) => (await tenant.draft()).id],
    [contract.vouchers.issue, 'template_id', 'TEMPLATE_NOT_FOUND', async (tenant) => (await tenant.template()).id],
    [contract.bots.issue, 'template_id', 'TEMPLATE_NOT_FOUND', async (tenant) => (await tenant.template()).id],
    [
      contract.bots.issue,
      'chat_id',
      'CHAT_NOT_FOUND',
      async (tenant) => (await newChat(tenant, await tenant.itsBot())).id,
    ],
    [
      contract.bots.send,
      'chat_id',
      'CHAT_NOT_FOUND',
      async (tenant) => (await newChat(tenant, await tenant.itsBot())).id,
    ],
    [
      contract.vouchers.redemption,
      'redemptionId',
      'REDEMPTION_NOT_FOUND',
      async (tenant) => (await tenant.redeem(await tenant.issue())).id,
    ],
    [
      contract.vouchers.reverse,
      'redemptionId',
      'REDEMPTION_NOT_FOUND',
      async (tenant) => (await tenant.redeem(await tenant.issue())).id,
    ],
    [contract.webhook.set, 'botId', 'BOT_NOT_FOUND', async (tenant) => (await tenant.itsBot()).id],
    [contract.webhook.delete, 'botId', 'BOT_NOT_FOUND', async (tenant) => (await tenant.itsBot()).id],
    [contract.webhook.deliveries, 'botId', 'BOT_NOT_FOUND', async (tenant) => (await tenant.itsBot()).id],
    [contract.webhook.retry, 'botId', 'BOT_NOT_FOUND', async (tenant) => (await tenant.itsBot()).id],
    [
      contract.webhook.retry,
      'deliveryId',
      'DELIVERY_NOT_FOUND',
      async (tenant) => (await newDelivery(tenant, await tenant.itsBot())).id,
    ],
  ]
  const odd = ['x', '', 'tpl_', '../x', '%', '%zz', '\u0000', 'é', '🎟', "' or 1=1 --", 'x'.repeat(4_000), '__proto__']

  it.each(ids.map(([endpoint, member, code, idOf]) => [endpoint.id, member, code, endpoint, idOf] as const))(
    '%s refuses a foreign, an absent and a malformed %s with the same bytes: %s',
    async (_id, member, code, endpoint, idOf) => {
      const scene = await Scene.of(server, endpoint)
      const foreign = await scene.send({ input: { [member]: await idOf(await newTenant(server)) } })
      expect([foreign.status, foreign.code]).toEqual([404, code])
      const absent = await scene.send({ input: { [member]: `${member}_01ARZ3NDEKTSV4RRFFQ69G5FAV` } })
      expect(seen(absent)).toEqual(seen(foreign))
      for (const id of odd) {
        // With an empty id the path matches no route, so the refusal has another code.
        if (id === '' && endpoint.path.includes(`:${member}`)) continue
        expect([id, seen(await scene.send({ input: { [member]: id } }))]).toEqual([id, seen(foreign)])
      }
      expect((await scene.send()).envelope.success).toBe(true)
    },
  )

  it('application token cannot access another application of the same account', async () => {
    const tenant = await newTenant(server)
    const sibling = await newTenant(server, tenant.accountId)
    const { id } = await sibling.draft()
    expect((await tenant.runtime(contract.templates.submit, { templateId: id })).code).toBe('TEMPLATE_NOT_FOUND')
    const crossed = await tenant.console(contract.tokens.revoke, { appId: tenant.appId, tokenId: sibling.tokenId })
    expect(crossed.code).toBe('TOKEN_NOT_FOUND')
  })

  it.each([contract.vouchers.verify, contract.vouchers.redeem])(
    '$id refuses the code of a foreign voucher with the same bytes as an unknown code',
    async (endpoint) => {
      const scene = await Scene.of(server, endpoint)
      const stranger = await newTenant(server)
      const foreign = await scene.send({ input: { credential: codeOf(await stranger.issue()) } })
      expect([foreign.status, foreign.code]).toEqual([404, 'VOUCHER_NOT_FOUND'])
      expect(seen(await scene.send({ input: { credential: unknownCredential() } }))).toEqual(seen(foreign))
      const qr = await scene.send({ input: { credential: codeOf(await stranger.issue(), 'qr_token') } })
      expect(seen(qr)).toEqual(seen(foreign))
    },
  )
})

describe('application tokens', () => {
  const list = (credential: string) => {
    const wire = wireOf(contract.templates.list)
    return server.send({ ...wire, headers: { authorization: credential } })
  }

  it('application token is returned in full only once', async () => {
    const tenant = await newTenant(server)
    const created = await tenant.newToken()
    expect(created.token).toMatch(/^sop_[0-9A-Za-z]{36}$/)
    const listed = await tenant.console(contract.tokens.list, { appId: tenant.appId })
    const revoked = await tenant.console(contract.tokens.revoke, { appId: tenant.appId, tokenId: created.id })
    for (const { text } of [listed, revoked]) expect(text).not.toContain(created.token)
    expect(revoked.data).toMatchObject({
      tokenPrefix: created.token.slice(0, 8),
      last4: created.token.slice(-4),
      status: 'revoked',
    })
  })

  it.each([
    '',
    'Bearer',
    'Bearer ',
    'Basic dXNlcjpwYXNz',
    'Bearer a b',
    'Token x',
    'Bearer sop_',
    'Bearer x',
    'Bearer ..',
  ])('Authorization header %j is refused as TOKEN_INVALID', async (value) => {
    const response = await list(value)
    expect([response.status, response.code]).toEqual([401, 'TOKEN_INVALID'])
  })

  it('Authorization scheme is case-insensitive and may be followed by several spaces', async () => {
    const { token } = await newTenant(server)
    for (const value of [`bearer ${token}`, `BEARER   ${token}`, `Bearer ${token} `]) {
      expect((await list(value)).status).toBe(200)
    }
  })
})

describe('inactive applications', () => {
  it('console calls reach inactive applications but cannot lift a suspension', async () => {
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
  ])('account JWT with %s is refused as TOKEN_INVALID', async (_what, claims) =>
    expect(await read(await sign(claims))).toBe('TOKEN_INVALID'),
  )

  it('expired account JWT is refused as TOKEN_EXPIRED', async () => {
    expect(await read(await sign({ exp: now }))).toBe('TOKEN_EXPIRED')
    expect(await read(await sign({ exp: now + 1 }))).toBeNull()
  })

  it('account JWT that is unsigned or signed with another key or algorithm is refused', async () => {
    const claims = { sub: 'acc', aud: 'voucher-console', exp: now + 60 }
    expect(await read(await sign({}, new Uint8Array(32)))).toBe('TOKEN_INVALID')
    expect(await read(await sign({}, Buffer.concat([accountKey, accountKey]), 'HS512'))).toBe('TOKEN_INVALID')
    for (const alg of ['none', 'None', 'NONE']) {
      expect(await read(`${encode({ alg })}.${encode(claims)}.`)).toBe('TOKEN_INVALID')
      expect(await read(`${encode({ alg })}.${encode(claims)}.AA`)).toBe('TOKEN_INVALID')
    }
  })

  it('operator issues account tokens with the requested lifetime', async () => {
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
