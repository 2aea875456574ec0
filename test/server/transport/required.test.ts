import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Endpoint } from '../../../src/contract/endpoint.js'
import { contract, endpoints } from '../../../src/contract/index.js'
import { sampleOf } from '../../support/extent.js'
import { securely } from '../../support/secure/send.js'
import { seededRandom, type TestApp, testApp } from '../../support/server/app.js'
import { portOf, RawConnection, rawResponse } from '../../support/server/raw.js'
import { Scene } from '../../support/server/scene.js'
import { newTenant } from '../../support/server/tenant.js'

/** Ids of the endpoints that a server or application that requires encryption must refuse in plain text. */
const runtimeCalls = [
  'bots.issue',
  'templates.create',
  'templates.list',
  'templates.submit',
  'vouchers.issue',
  'vouchers.redeem',
  'vouchers.redemption',
  'vouchers.reverse',
  'vouchers.verify',
]
const isRuntime = ({ id }: Endpoint) => runtimeCalls.includes(id)

let server: TestApp
let strict: TestApp
beforeAll(() => {
  server = testApp()
  const { secure } = server.deps
  // Two servers on one store must not generate the same ids.
  const random = seededRandom('strict')
  strict = testApp({ store: server.deps.store, random, secure: { ...secure, required: true } })
})
afterAll(async () => {
  await strict.close()
  await server.close()
})

describe('server that requires encryption', () => {
  it.each(endpoints.filter(isRuntime).map((it) => [it.id, it] as const))(
    'server that requires encryption refuses %s in plain text',
    { tags: ['required-encryption/1', 'failure-codes/2'] },
    async (_, endpoint) => {
      const scene = await Scene.of(server, endpoint)
      for (const credential of [undefined, null, 'nonsense']) {
        const response = await scene.send({ to: strict, ...(credential === undefined ? {} : { credential }) })
        expect([response.status, response.code]).toEqual([426, 'SECURE_TRANSPORT_REQUIRED'])
        expect(response.headers).toMatchObject({ upgrade: 'platform-secure/1', connection: 'Upgrade' })
        expect(response.headers).not.toHaveProperty('www-authenticate')
      }
      const inside = await scene.send({ to: { ...strict, send: securely(strict.send) } })
      expect(inside.status).toBe(endpoint.status)
    },
  )

  it.each(sampleOf(endpoints.filter((it) => !isRuntime(it))).map((it) => [it.id, it] as const))(
    'server that requires encryption accepts %s in plain text',
    async (_, endpoint) => {
      // A fault is in the memory of one server.
      const scene = await Scene.of(endpoint.id === 'platform.removeFault' ? strict : server, endpoint)
      expect((await scene.send({ to: strict })).status).toBe(endpoint.status)
      const none = await scene.send({ to: strict, credential: null })
      expect([none.status, none.code]).toEqual([401, 'TOKEN_MISSING'])
    },
  )

  it('contract marks exactly the endpoints of the specification as runtime calls', () => {
    expect(
      endpoints
        .filter(isRuntime)
        .map(({ id }) => id as string)
        .sort(),
    ).toEqual(runtimeCalls)
  })

  it('plain call cannot pass as encrypted by any header or query', { tags: 'required-encryption/2' }, async () => {
    const tenant = await newTenant(server)
    const names = ['inner', 'x-inner', 'x-secure', 'x-secure-inner', 'inner-origin', 'secure', 'sec-inner', 'forwarded']
    const forged = Object.fromEntries(
      [...names, 'via', 'x-forwarded-for', 'origin', '__proto__'].map((it) => [it, '1']),
    )
    const headers = { ...forged, authorization: `Bearer ${tenant.token}`, upgrade: 'platform-secure/1' }
    const response = await strict.send({ method: 'GET', path: contract.templates.list.path, headers })
    expect(response.status).toBe(426)
    const body = JSON.stringify({ inner: { origin: '' }, origin: '' })
    const { path } = contract.vouchers.verify
    const sent = { ...headers, 'content-type': 'application/json' }
    expect((await strict.send({ method: 'POST', path: `${path}?inner=1`, headers: sent, body })).status).toBe(426)
  })
})

describe('application that requires encryption', () => {
  it.each(endpoints.filter(isRuntime).map((it) => [it.id, it] as const))(
    'application that requires encryption refuses %s in plain text',
    { tags: 'required-encryption/1' },
    async (_, endpoint) => {
      const scene = await Scene.of(server, endpoint)
      await scene.request()
      const { tenant } = scene
      await tenant.console(contract.apps.update, { appId: tenant.appId, secure_transport: 'required' })
      const response = await scene.send({ body: '{' })
      expect([response.status, response.code]).toEqual([426, 'SECURE_TRANSPORT_REQUIRED'])
      expect(response.headers).toMatchObject({ upgrade: 'platform-secure/1', connection: 'Upgrade' })
      // The credential is checked before: a stranger must not learn that the application requires encryption.
      expect((await scene.send({ credential: null })).status).toBe(401)
      const inside = { ...server, send: securely(server.send) }
      expect((await scene.send({ to: inside })).status).toBe(endpoint.status)
    },
  )

  it('application that requires encryption accepts console and bot template calls in plain text', async () => {
    const tenant = await newTenant(server)
    const bot = await tenant.linkedBot()
    const input = { appId: tenant.appId, secure_transport: 'required' } as const
    expect((await tenant.console(contract.apps.update, input)).data.secureTransport).toBe('required')
    expect((await tenant.console(contract.tokens.list, { appId: tenant.appId })).status).toBe(200)
    expect((await bot.call(contract.bots.updates, {})).status).toBe(200)
    expect((await tenant.console(contract.bots.templates, { botId: bot.id })).status).toBe(200)
  })
})

describe('426 over a socket', () => {
  let live: TestApp
  const start = async () => {
    live = testApp({ store: server.deps.store, secure: { ...server.deps.secure, required: true } })
    return portOf(live.app)
  }
  afterEach(() => live.close())
  const head = (more = '') =>
    `POST ${contract.vouchers.verify.path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${more}`

  it('response 426 is sent before the body; the connection is usable', { tags: 'required-encryption/2' }, async () => {
    const connection = await RawConnection.to(await start())
    connection.write(head('Content-Length: 2\r\n\r\n'))
    expect((await connection.response()).status).toBe(426)
    connection.write(`{}${head('Content-Length: 2\r\n\r\n{}')}`)
    expect((await connection.response()).status).toBe(426)
    connection.destroy()
  })

  it('response 426 closes the connection if the request has Connection: close', async () => {
    const connection = await RawConnection.to(await start())
    connection.write(head('Connection: close\r\nContent-Length: 2\r\n\r\n{}'))
    const response = await connection.response()
    expect([response.status, response.headers.connection]).toEqual([426, 'Upgrade, close'])
    await connection.end()
  })

  it('plain request with an Upgrade header gets 426 like one without', async () => {
    const upgrade = 'Connection: Upgrade\r\nUpgrade: platform-secure/1\r\nContent-Length: 2\r\n\r\n{}'
    expect((await rawResponse(await start(), head(upgrade))).status).toBe(426)
  })
})
