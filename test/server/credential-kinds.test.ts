import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { botScopes, scopes } from '../../src/contract/endpoint.js'
import { endpoints } from '../../src/contract/index.js'
import { makeToken } from '../../src/domain/tokens.js'
import { seededRandom, type TestApp, testApp } from '../support/server/app.js'
import { Scene } from '../support/server/scene.js'
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

describe('scopes of endpoints', () => {
  const runtime = endpoints.filter((it) => it.caller === 'token')
  const ofBots = endpoints.filter((it) => it.caller === 'bot')

  it('exactly the runtime and bot endpoints require a scope', () => {
    const scoped = [...runtime, ...ofBots]
    expect(scoped.every((it) => it.scope !== undefined)).toBe(true)
    expect(new Set(endpoints.filter((it) => it.scope !== undefined))).toEqual(new Set(scoped))
  })

  it.each(ofBots.map((it) => [it.id, it] as const))(
    'endpoint %s accepts a bot that has only the required scope, and no bot without it',
    async (_id, endpoint) => {
      const scene = await Scene.of(server, endpoint)
      for (const scope of botScopes) {
        const response = await scene.send({ credential: (await scene.tenant.linkedBot([scope])).token })
        const refused = scope === endpoint.scope ? {} : { required_scope: endpoint.scope }
        expect([scope, response.code === 'INSUFFICIENT_SCOPE']).toEqual([scope, scope !== endpoint.scope])
        expect(response.details).toEqual(refused)
      }
    },
  )

  it.each(runtime.map((it) => [it.id, it] as const))(
    'endpoint %s accepts a token that has only the required scope, and no token without it',
    async (_id, endpoint) => {
      const scene = await Scene.of(server, endpoint)
      await scene.request()
      for (const scope of scopes) {
        const { token } = await scene.tenant.newToken([scope])
        const response = await scene.send({ credential: token })
        if (scope === endpoint.scope) {
          expect([scope, response.envelope.success]).toEqual([scope, true])
        } else {
          expect([scope, response.status, response.code]).toEqual([scope, 403, 'INSUFFICIENT_SCOPE'])
          expect(response.details).toEqual({ required_scope: endpoint.scope })
          expect(response.headers['www-authenticate']).toBe(
            `Bearer error="insufficient_scope", scope="${String(endpoint.scope)}"`,
          )
        }
      }
    },
  )
})
