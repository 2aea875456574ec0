import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Endpoint, scopes } from '../../src/contract/endpoint.js'
import { contract, endpoints } from '../../src/contract/index.js'
import { defaultRateLimits, type RateLimitName } from '../../src/contract/rate-limits.js'
import { ClientAddresses, createLimits } from '../../src/server/limits.js'
import { type TestApp, testApp } from '../support/server/app.js'
import { wireOf } from '../support/server/client.js'
import { Scene, unknownCredential } from '../support/server/scene.js'
import { codeOf, newTenant } from '../support/server/tenant.js'

/** Rate limit windows follow the clock of the machine, so tests replace it. */
beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'Date', 'setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

const opened: TestApp[] = []
afterEach(async () => {
  for (const server of opened.splice(0)) await server.close()
})

function limited(limits: Partial<Record<RateLimitName, { calls: number; seconds: number }>>): TestApp {
  const server = testApp({ limits: createLimits(limits) })
  opened.push(server)
  return server
}

describe('rate limit names', { tags: ['rate-limits/2', 'rate-limits/3'] }, () => {
  const names: Record<string, RateLimitName | undefined> = {
    'vouchers.issue': 'issue',
    'vouchers.verify': 'verify',
    'vouchers.redeem': 'redeem',
    'vouchers.reverse': 'reverse',
    'vouchers.redemption': 'reads',
    'templates.list': 'reads',
    'templates.create': 'template_writes',
    'templates.submit': 'template_writes',
    'bots.issue': 'bot_issue',
  }
  const limitOf = ({ id, caller }: Endpoint): RateLimitName | undefined => {
    if (caller === 'operator') return undefined
    return names[id] ?? (caller === 'jwt' ? 'console' : 'bot_calls')
  }
  it('endpoints have the documented rate limit names', { tags: 'rate-limits/1' }, () => {
    for (const it of endpoints as readonly Endpoint[]) expect([it.id, it.limit]).toEqual([it.id, limitOf(it)])
  })

  it('default limits have the documented calls per 60 s', () => {
    const calls = Object.fromEntries(Object.entries(defaultRateLimits).map(([name, it]) => [name, it.calls]))
    expect(calls).toEqual({
      issue: 6000,
      verify: 6000,
      redeem: 6000,
      reverse: 1200,
      reads: 6000,
      template_writes: 120,
      bot_issue: 600,
      bot_calls: 1800,
      secure_session: 30,
      console: 600,
      credential_failures: 600,
      auth_failures: 600,
    })
    expect(Object.values(defaultRateLimits).every((it) => it.seconds === 60)).toBe(true)
  })
})

describe('rate limit', { tags: 'rate-limits/2' }, () => {
  const list = contract.templates.list

  it('rate limit headers count down, then calls get 429', { tags: ['rate-limits/1', 'rate-limits/4'] }, async () => {
    const tenant = await newTenant(limited({ reads: { calls: 2, seconds: 60 } }))
    const call = () => tenant.runtime(list, {})
    const first = await call()
    expect(first.headers).toMatchObject({ 'ratelimit-policy': '"reads";q=2;w=60', ratelimit: '"reads";r=1;t=60' })
    vi.advanceTimersByTime(20_000)
    expect((await call()).headers.ratelimit).toBe('"reads";r=0;t=40')
    const refused = await call()
    expect(refused).toMatchObject({ status: 429, code: 'RATE_LIMITED' })
    expect(refused.headers).toMatchObject({ ratelimit: '"reads";r=0;t=40', 'retry-after': '40' })
    vi.advanceTimersByTime(39_999)
    expect((await call()).status).toBe(429)
    vi.advanceTimersByTime(1)
    expect((await call()).headers.ratelimit).toBe('"reads";r=1;t=60')
  })

  it('rate limit holds until its window ends although sweeps of ended windows run meanwhile', () => {
    let now = 0
    const limits = createLimits({ reads: { calls: 1, seconds: 600 }, issue: { calls: 1, seconds: 1 } }, () => now)
    limits.take('reads', 'app')
    for (now = 30_000; now < 600_000; now += 30_000) {
      limits.take('issue', 'app')
      expect(limits.peek('reads', 'app')).toMatchObject({ remaining: 0, resetSeconds: (600_000 - now) / 1000 })
      expect(limits.take('reads', 'app')?.allowed).toBe(false)
    }
    expect(limits.take('reads', 'app')?.allowed).toBe(true)
  })

  it('rate limit is per application, shared by all its tokens', async () => {
    const server = limited({ reads: { calls: 1, seconds: 60 } })
    const [one, two] = [await newTenant(server), await newTenant(server)]
    await one.runtime(list, {})
    expect((await (await one.newToken()).call(list, {})).status).toBe(429)
    expect((await two.runtime(list, {})).status).toBe(200)
  })

  it('rate limit of one operation does not affect another', async () => {
    const tenant = await newTenant(limited({ reads: { calls: 1, seconds: 60 } }))
    const voucher = await tenant.issue()
    await tenant.runtime(list, {})
    expect((await tenant.runtime(list, {})).status).toBe(429)
    expect((await tenant.runtime(contract.vouchers.verify, { credential: codeOf(voucher) })).status).toBe(200)
  })

  it('console limit is per account, without RateLimit', { tags: ['rate-limits/3', 'rate-limits/4'] }, async () => {
    const server = limited({ console: { calls: 3, seconds: 60 } })
    // Creating a tenant takes two console calls.
    const [one, two] = [await newTenant(server), await newTenant(server)]
    const third = await one.console(contract.apps.list, {})
    expect([third.status, third.headers.ratelimit]).toEqual([200, undefined])
    const fourth = await one.console(contract.apps.get, { appId: one.appId })
    expect([fourth.status, fourth.headers['retry-after']]).toEqual([429, '60'])
    expect((await two.console(contract.apps.list, {})).status).toBe(200)
  })

  it('switched-off rate limits add no headers', { tags: 'rate-limits/4' }, async () => {
    const server = testApp()
    opened.push(server)
    const tenant = await newTenant(server)
    const { headers } = await tenant.runtime(list, {})
    expect([headers.ratelimit, headers['ratelimit-policy']]).toEqual([undefined, undefined])
  })
})

describe('limit of failed credentials', () => {
  it.each([contract.vouchers.verify, contract.vouchers.redeem])(
    '$id above the failed-credential limit still accepts a valid credential',
    { tags: 'rate-limits/5' },
    async (endpoint) => {
      const server = limited({ credential_failures: { calls: 2, seconds: 60 } })
      const tenant = await newTenant(server)
      const voucher = await tenant.issue()
      const guess = () =>
        tenant.runtime(endpoint as typeof contract.vouchers.verify, { credential: unknownCredential() })
      expect([(await guess()).status, (await guess()).status]).toEqual([404, 404])
      const refused = await guess()
      expect(refused).toMatchObject({ status: 429, code: 'CREDENTIAL_ATTEMPTS_EXCEEDED' })
      expect(refused.headers['retry-after']).toBe('60')
      const known = await tenant.runtime(endpoint as typeof contract.vouchers.verify, { credential: codeOf(voucher) })
      expect(known.status).toBe(200)
      vi.advanceTimersByTime(60_000)
      expect((await guess()).status).toBe(404)
    },
  )

  it('code with a wrong check symbol does not count as a failed credential', { tags: 'rate-limits/5' }, async () => {
    const tenant = await newTenant(limited({ credential_failures: { calls: 1, seconds: 60 } }))
    const { value } = codeOf(await tenant.issue())
    const slip = { type: 'redeem_code' as const, value: (value[0] === 'A' ? 'B' : 'A') + value.slice(1) }
    for (let time = 0; time < 3; time++) {
      expect((await tenant.runtime(contract.vouchers.verify, { credential: slip })).status).toBe(404)
    }
  })

  it('limit of failed credentials is per application', async () => {
    const server = limited({ credential_failures: { calls: 1, seconds: 60 } })
    const [one, two] = [await newTenant(server), await newTenant(server)]
    const guess = { credential: unknownCredential() }
    await one.runtime(contract.vouchers.verify, guess)
    expect((await one.runtime(contract.vouchers.verify, guess)).status).toBe(429)
    expect((await two.runtime(contract.vouchers.verify, guess)).status).toBe(404)
  })
})

describe('limit of failed authentications', () => {
  const send = (server: TestApp, endpoint: Endpoint, credential?: string) =>
    server.send({
      ...wireOf(endpoint),
      headers: credential === undefined ? {} : { authorization: `Bearer ${credential}` },
    })

  it('beyond auth_failures bad credentials get 429, and valid ones succeed', { tags: 'rate-limits/5' }, async () => {
    const server = limited({ auth_failures: { calls: 2, seconds: 60 } })
    const tenant = await newTenant(server)
    expect((await send(server, contract.templates.list)).status).toBe(401)
    expect((await send(server, contract.apps.list, 'nonsense')).status).toBe(401)
    for (const endpoint of [contract.templates.list, contract.apps.list, contract.platform.reviews]) {
      const refused = await send(server, endpoint, 'nonsense')
      expect(refused).toMatchObject({ status: 429, code: 'RATE_LIMITED' })
      expect([refused.headers['retry-after'], refused.headers['www-authenticate']]).toEqual(['60', undefined])
    }
    expect((await tenant.runtime(contract.templates.list, {})).status).toBe(200)
    vi.advanceTimersByTime(60_000)
    expect((await send(server, contract.templates.list)).status).toBe(401)
  })

  it('failed authentications behind a trusted proxy count by the address of the client', async () => {
    const server = testApp({
      limits: createLimits({ auth_failures: { calls: 1, seconds: 60 } }),
      addresses: new ClientAddresses(['127.0.0.1']),
    })
    opened.push(server)
    const guess = (forwardedFor: string) => {
      const headers = { authorization: 'Bearer nonsense', 'x-forwarded-for': forwardedFor }
      return server.send({ ...wireOf(contract.apps.list), headers })
    }
    for (const status of [401, 429]) expect((await guess('203.0.113.66')).status).toBe(status)
    expect((await guess('198.51.100.7')).status).toBe(401)
  })

  it('call refused with 403 does not count as a failed authentication', async () => {
    const server = limited({ auth_failures: { calls: 1, seconds: 60 } })
    const scene = await Scene.of(server, contract.templates.list)
    const { token } = await scene.tenant.newToken(scopes.filter((it) => it !== 'vouchers:read'))
    for (let time = 0; time < 3; time++) expect((await scene.send({ credential: token })).status).toBe(403)
    expect((await send(server, contract.templates.list)).status).toBe(401)
  })
})
