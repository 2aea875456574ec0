import { afterAll, beforeAll, expect, it } from 'vitest'
import { endpoints } from '../../src/contract/index.js'
import { makeToken } from '../../src/domain/tokens.js'
import { seededRandom, type TestApp, testApp } from '../support/server/app.js'
import { newTenant, type Tenant } from '../support/server/tenant.js'

let server: TestApp
let tenant: Tenant
beforeAll(async () => {
  server = testApp()
  tenant = await newTenant(server)
})
afterAll(() => server.close())

it.each(endpoints.map((it) => [it.id, it] as const))(
  'endpoint %s accepts one credential kind, and its refusals of others name that kind',
  async (_id, { method, path: pattern, caller }) => {
    const { token, jwt } = tenant
    const kinds = { token, jwt, operator: server.operatorKey, bot: makeToken('sbot_', seededRandom('bot')) }
    // The credential is checked first, so the call needs no objects.
    const path = pattern.replaceAll(/:[A-Za-z]+/g, 'x')
    for (const [kind, credential] of Object.entries(kinds)) {
      if (kind === caller) continue
      const response = await server.send({ method, path, headers: { authorization: `Bearer ${credential}` } })
      expect([kind, response.status, response.code]).toEqual([kind, 401, 'TOKEN_TYPE_NOT_ACCEPTED'])
      expect(response.details).toEqual({ accepted: caller })
      expect(response.headers['www-authenticate']).toBe('Bearer error="invalid_token"')
    }
  },
)

it('exactly the runtime and bot endpoints require a scope', () => {
  const scoped = endpoints.filter(({ caller }) => caller === 'token' || caller === 'bot')
  expect(endpoints.filter(({ scope }) => scope !== undefined)).toEqual(scoped)
})
