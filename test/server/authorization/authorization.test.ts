import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { endpoints } from '../../../src/contract/index.js'
import { sampleOf } from '../../support/extent.js'
import type { TestApp } from '../../support/server/app.js'
import { onPostgres } from '../../support/store/engine-name.js'
import { closeGrid, entries, isOfKind, openGrid, sharedOf, takesHead, tryRoute } from './grid.js'
import { openRoutes, pageRoutes, rows } from './table.js'

let server: TestApp
beforeAll(async () => {
  server = await openGrid()
})
afterAll(closeGrid)

const tried = onPostgres ? endpoints : sampleOf(endpoints, ({ id }) => id === 'bots.issue' || isOfKind(rows[id]))

describe.each(tried.map((it) => [it.id, it] as const))(
  '%s',
  {
    tags: [
      'order-of-checks/2',
      'scopes/1',
      'scopes/2',
      'tenants/1',
      'credential-kinds/1',
      'credential-kinds/2',
      'applications/3',
      'required-encryption/1',
      'session-origins/1',
    ],
  },
  (_id, endpoint) => {
    it('endpoint responds to credentials, objects and transports as the authorization table says', async () => {
      expect(await tryRoute(endpoint, 'quick')).toEqual([])
    })
  },
)

it('OPTIONS on any route, and HEAD on a route without GET, return 405 for any credential', async () => {
  const routes = [...Object.values(rows).map((it) => it.route), ...openRoutes]
  const methodsOf = new Map<string, Set<string>>()
  for (const route of routes) {
    const [method, path] = route.split(' ') as [string, string]
    const methods = methodsOf.get(path) ?? new Set<string>()
    methodsOf.set(path, methods.add(method))
    if (takesHead(route)) methods.add('HEAD')
  }
  const credentials = await Promise.all(
    Object.entries(entries)
      .filter(([name]) => ['none', 'token', 'bot', 'account', 'operator'].includes(name))
      .map(([name, entry]) => sharedOf(name, entry)),
  )
  const wrong: unknown[] = []
  for (const [template, methods] of methodsOf) {
    const path = template.replaceAll(/:[A-Za-z]+/g, 'x_01ARZ3NDEKTSV4RRFFQ69G5FAV')
    for (const method of methods.has('HEAD') ? ['OPTIONS'] : ['OPTIONS', 'HEAD']) {
      for (const { authorization } of credentials) {
        const headers = authorization === null ? {} : { authorization }
        const response = await server.send({ method, path, headers })
        const allow = response.headers.allow?.split(', ').sort()
        const { status } = response
        const code = method === 'HEAD' ? response.text : response.code
        const expected = [405, method === 'HEAD' ? '' : 'METHOD_NOT_ALLOWED', [...methods].sort()]
        if (JSON.stringify([status, code, allow]) !== JSON.stringify(expected)) {
          wrong.push({ method, path, authorization, got: [status, code, allow], expected })
        }
      }
    }
  }
  expect(wrong).toEqual([])
})

it('authorization table has every endpoint of the contract with its method and path', () => {
  const routes = (of: readonly { method: string; path: string }[]) => of.map((it) => `${it.method} ${it.path}`).sort()
  expect(Object.keys(rows).sort()).toEqual(endpoints.map((it) => it.id).sort())
  expect(
    Object.values(rows)
      .map((it) => it.route)
      .sort(),
  ).toEqual(routes(endpoints))
})

it('server has exactly the routes of the authorization table and the open routes', () => {
  const served = server.app.routes.all.map((it) => `${it.method} ${it.endpoint.path}`)
  expect(served.sort()).toEqual([...Object.values(rows).map((it) => it.route), ...openRoutes, ...pageRoutes].sort())
})
