import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { endpoints } from '../../src/contract/index.js'
import type { TestApp } from '../support/server-app.js'
import { closeGrid, entries, openGrid, sharedOf, takesHead, tryRoute } from './authorization-grid.js'
import { openRoutes, pageRoutes, rows } from './authorization-table.js'

let server: TestApp
beforeAll(async () => {
  server = await openGrid()
})
afterAll(closeGrid)

describe.each(endpoints.map((it) => [it.id, it] as const))('%s', (_id, endpoint) => {
  it('endpoint responds to credentials, objects and transports as the authorization table says', async () => {
    expect(await tryRoute(endpoint, 'quick')).toEqual([])
  })
})

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
        const answer = await server.send({ method, path, headers })
        const allow = answer.headers.allow?.split(', ').sort()
        const { status, code } = answer
        const expected = [405, 'METHOD_NOT_ALLOWED', [...methods].sort()]
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

it('server has exactly the routes of the authorization table and the open routes', async () => {
  await server.app.ready()
  const parents: string[] = []
  const served = server.app
    .printRoutes({ commonPrefix: false })
    .split('\n')
    .flatMap((line) => {
      const [, indent = '', path = '', methods = ''] = /^([│ ]*)[├└]── (\S+) \((.*)\)$/.exec(line) ?? []
      if (path === '') return []
      const depth = indent.length / 4
      parents.splice(depth, Number.POSITIVE_INFINITY, `${parents[depth - 1] ?? ''}${path}`)
      return methods.split(', ').map((method) => `${method} ${parents[depth]}`)
    })
    // Fastify adds a HEAD route to each GET route.
    .filter((route) => !route.startsWith('HEAD '))
  // The dispatch route is served before routing (transport/dispatch.ts), so Fastify does not list it.
  served.push('POST /api/v1/secure/dispatch')
  expect(served.sort()).toEqual([...Object.values(rows).map((it) => it.route), ...openRoutes, ...pageRoutes].sort())
})
