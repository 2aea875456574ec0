import { beforeAll, expect, it } from 'vitest'
import { Routes } from '../../../src/server/http/routes.js'

const routes = new Routes()
beforeAll(() => {
  const handle = () => ({ status: 200, headers: {}, body: '' })
  for (const [method, path] of [
    ['GET', '/things'],
    ['POST', '/things'],
    ['GET', '/things/latest'],
    ['GET', '/things/:id'],
    ['POST', '/things/:id/parts/:part'],
    ['GET', '/files/*'],
    ['POST', '/files/new'],
  ] as const) {
    routes.add({ method, endpoint: { id: `test.${path}`, path }, handle })
  }
  routes.add({ method: 'GET', endpoint: { id: 'test.stream', path: '/stream' }, refusesHead: true, handle })
})

const found = (method: string, url: string) => {
  const match = routes.find(method, url)
  return match && [match.route.endpoint.path, { ...match.params }]
}

it.each([
  ['GET', '/things', '/things', {}],
  ['GET', '/things?id=1', '/things', {}],
  ['GET', '/things#part', '/things', {}],
  ['HEAD', '/things', '/things', {}],
  ['GET', '/%74hings/%6Catest', '/things/latest', {}],
  ['GET', '/things/latest', '/things/latest', {}],
  ['GET', '/things/', '/things/:id', { id: '' }],
  ['GET', '/things/a:@b', '/things/:id', { id: 'a:@b' }],
  ['GET', '/things/a%2Fb%25%C3%A9', '/things/:id', { id: 'a/b%é' }],
  ['POST', '/things/1/parts/2', '/things/:id/parts/:part', { id: '1', part: '2' }],
  ['GET', '/files', '/files/*', {}],
  ['GET', '/files/new', '/files/*', { '*': 'new' }],
  ['POST', '/files/new', '/files/new', {}],
] as const)('%s %s has the route %s with its parameters decoded', (method, url, path, params) => {
  expect(found(method, url)).toEqual([path, params])
})

it.each([
  ['GET', '/THINGS'],
  ['GET', '/things/1/'],
  ['GET', '/things%2Flatest/x'],
  ['GET', '/filesystem'],
  ['GET', '//things'],
  ['HEAD', '/stream'],
  ['OPTIONS', '/things'],
])('%s %s has no route', (method, url) => {
  expect(found(method, url)).toBeUndefined()
})

it('a path has the methods of its routes, with HEAD for each GET that takes it', () => {
  expect(routes.methods('/things?x')).toEqual(['GET', 'HEAD', 'POST'])
  expect(routes.methods('/files/new')).toEqual(['GET', 'HEAD', 'POST'])
  expect(routes.methods('/stream')).toEqual(['GET'])
  expect(routes.methods('/unknown')).toEqual([])
})
