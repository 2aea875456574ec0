import { beforeAll, describe, expect, it } from 'vitest'
import { contract, endpoints } from '../../src/contract/index.js'
import { sampleOf } from '../support/extent.js'
import { sharedApp } from '../support/server/app.js'
import { wireOf } from '../support/server/client.js'
import { Scene } from '../support/server/scene.js'
import { newTenant, type Tenant, templateBody } from '../support/server/tenant.js'

const server = sharedApp()
let tenant: Tenant
beforeAll(async () => {
  tenant = await newTenant(server)
})

const issuesOf = async (overrides: object, endpoint = contract.templates.create) => {
  const wire = wireOf(endpoint, { ...templateBody(), ...overrides })
  const response = await server.send({ ...wire, headers: { ...wire.headers, authorization: `Bearer ${tenant.token}` } })
  return response.envelope.success ? null : response.details.errors
}

describe('response format', () => {
  it('request id of the client is ignored', async () => {
    const response = await tenant.runtime(contract.templates.list, {}, { headers: { 'x-request-id': 'mine' } })
    expect(response.headers['x-request-id']).not.toBe('mine')
  })
})

describe('GET /', { tags: 'order-of-checks/1' }, () => {
  it.each([
    ['text/html,*/*;q=0.8', 'text/plain; charset=utf-8', /^[^\n]*voucherctl open\n$/],
    ['application/json', 'application/json; charset=utf-8', /"ROUTE_NOT_FOUND"/],
  ])('GET / with Accept: %s is 404 with a body of type %s', async (accept, type, body) => {
    const response = await server.send({ method: 'GET', path: '/', headers: { accept } })
    expect([response.status, response.headers['content-type']]).toEqual([404, type])
    expect(response.text).toMatch(body)
  })
})

describe('HEAD', () => {
  const paths = sampleOf(endpoints.filter((it) => it.method === 'GET' && !it.streams))
  it.each(paths.map((it) => [it.id, it] as const))(
    'HEAD request to %s returns the headers of GET without a body',
    async (_id, endpoint) => {
      const scene = await Scene.of(server, endpoint)
      const request = await scene.request()
      // Send a GET first: the first read of a bot returns a token that later responses omit.
      await server.send(request)
      const [get, head] = [await server.send(request), await server.send({ ...request, method: 'HEAD' })]
      expect([head.status, head.text]).toEqual([200, ''])
      expect(head.headers['content-length']).toBe(get.headers['content-length'])
      expect((await server.send({ ...request, method: 'HEAD', headers: {} })).status).toBe(401)
    },
  )
})

describe('unknown routes', () => {
  it.each([
    '/',
    '/api',
    '/api/v1',
    '/api/v1/',
    '/api/v1//open-platform/applications',
    '/API/v1/open-platform/applications',
    '/api/v2/open-platform/applications',
    '/api/v1/open-platform/vouchers',
    '/api/v1/open-platform/applications/a/b/c',
    '/_platform/v1/',
    '/favicon.ico',
    '/%2e%2e/etc/passwd',
    '/%zz',
    '/x?y=%',
    '/*',
  ])('unknown route %s returns 404 for every method, with and without a credential', async (path) => {
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      for (const headers of [{}, { authorization: `Bearer ${tenant.token}` }]) {
        const response = await server.send({ method, path, headers })
        expect([method, response.status]).toEqual([method, 404])
        if (method !== 'HEAD') expect(response.code).toBe('ROUTE_NOT_FOUND')
      }
    }
  })

  it('request path with an empty id is refused like a path with an unknown id', async () => {
    const path = `${contract.apps.list.path}/`
    const response = await server.send({ method: 'GET', path, headers: { authorization: `Bearer ${tenant.jwt}` } })
    expect([response.status, response.code]).toEqual([404, 'APPLICATION_NOT_FOUND'])
  })

  it('known path returns 405 with the Allow header for any other method', async () => {
    const allowed = new Map<string, string[]>()
    for (const { path, method, streams } of endpoints) {
      const methods = method === 'GET' && !streams ? ['GET', 'HEAD'] : [method]
      allowed.set(path, [...(allowed.get(path) ?? []), ...methods])
    }
    for (const [pattern, methods] of allowed) {
      const path = pattern.replaceAll(/:[A-Za-z]+/g, 'x')
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'TRACE']) {
        if (methods.includes(method)) continue
        const response = await server.send({ method, path })
        expect([path, method, response.status, response.code]).toEqual([path, method, 405, 'METHOD_NOT_ALLOWED'])
        expect(response.headers.allow?.split(', ').sort()).toEqual(methods.sort())
      }
    }
    expect((await server.send({ method: 'POST', path: '/healthz' })).headers.allow).toBe('GET, HEAD')
  })
})

describe('lists and their queries', () => {
  const list = async (query: string) => {
    const path = `${contract.templates.list.path}${query}`
    return server.send({ method: 'GET', path, headers: { authorization: `Bearer ${tenant.token}` } })
  }

  it.each([
    'page=0',
    'page=-1',
    'page=1.5',
    'page=one',
    'page=',
    'page=1e3',
    'page=%201',
    'page=99999999999999999999',
    'limit=+5',
    'limit=5&limit=5',
    'Page=1',
    'status=ACTIVE',
    'status=',
    'status=draft&status=active',
    'status[]=draft',
    'external_template_id=a%20b',
    '__proto__=1',
    'constructor=1',
    'page',
    '%zz=1',
  ])('list query ?%s is refused with 400', { tags: ['lists/2', 'unknown-members/1'] }, async (query) => {
    const response = await list(`?${query}`)
    expect([response.status, response.code]).toEqual([400, 'VALIDATION_FAILED'])
  })

  it.each(['?page=1', '?limit=100', '?page=007', '?', '?status=draft&limit=1'])(
    'list query %s is accepted',
    async (query) => {
      expect((await list(query)).status).toBe(200)
    },
  )
})

describe('request bodies', () => {
  const optional = sampleOf(endpoints.filter((it) => it.bodyOptional))

  it.each(optional.map((it) => [it.id, it] as const))(
    '%s accepts an empty body with or without a JSON content type, and {}',
    async (_id, endpoint) => {
      const own = await newTenant(server)
      for (const [type, body] of [
        [undefined, undefined],
        ['application/json', undefined],
        ['application/json; charset=utf-8', ''],
        ['application/x-www-form-urlencoded', undefined],
        ['application/json', '{}'],
        ['application/json', ' {\n} '],
      ] as const) {
        const scene = await Scene.of(server, endpoint, own)
        const request = await scene.request()
        const { 'content-type': _type, ...headers } = request.headers ?? {}
        const response = await server.send({
          method: request.method,
          path: request.path,
          headers: { ...headers, ...(type === undefined ? {} : { 'content-type': type }) },
          ...(body === undefined ? {} : { body }),
        })
        // Planting needs an empty store.
        const status = endpoint.id === 'platform.seedStore' ? 409 : 200
        expect([type, body, response.status]).toEqual([type, body, status])
      }
    },
  )

  it.each(optional.map((it) => [it.id, it] as const))(
    '%s, whose body is optional, refuses the body null, a list or an unknown member',
    async (_id, endpoint) => {
      const scene = await Scene.of(server, endpoint, tenant)
      for (const body of ['null', '[]', '"x"', '1', 'true', '{"x":1}']) {
        const response = await scene.send({ body })
        expect([body, response.status, response.code]).toEqual([body, 400, 'VALIDATION_FAILED'])
      }
      expect(
        (await scene.send({ body: 'x=1', headers: { 'content-type': 'application/x-www-form-urlencoded' } })).status,
      ).toBe(415)
    },
  )

  const required = sampleOf(endpoints.filter((it) => it.body !== undefined && !it.bodyOptional))
  it.each(required.map((it) => [it.id, it] as const))(
    '%s refuses a body that is absent or not an object',
    async (_id, endpoint) => {
      const scene = await Scene.of(server, endpoint, tenant)
      for (const body of ['', 'null', '[]', '"x"']) {
        const response = await scene.send({ body })
        expect([body, response.status, response.code]).toEqual([body, 400, 'VALIDATION_FAILED'])
      }
    },
  )

  it.each([
    ['application/json', 201],
    ['application/json; charset=utf-8', 201],
    ['application/json;charset="UTF-8"', 201],
    ['application/json; charset=utf8', 201],
    ['application/json; Charset = "UTF8" ; v=1', 201],
    ['Application/JSON', 201],
    ['application/json; charset=iso-8859-1', 415],
    ['application/jsonp', 415],
    ['application/vnd.api+json', 415],
    ['text/json', 415],
    ['multipart/form-data; boundary=x', 415],
    ['nonsense', 415],
    ['', 415],
  ])('request body with Content-Type %j gets %i', { tags: ['bodies/1', 'bodies/2'] }, async (type, status) => {
    const response = await tenant.runtime(contract.templates.create, templateBody(), {
      headers: { 'content-type': type },
    })
    expect([response.status, response.headers['content-type']]).toEqual([status, 'application/json; charset=utf-8'])
    if (status === 415) expect(response.code).toBe('UNSUPPORTED_MEDIA_TYPE')
  })

  it.each([
    [
      { 'content-type': 'application/json; v=1; charset="latin1"' },
      'The body has the charset latin1. Send it in UTF-8.',
    ],
    [
      { 'content-type': `application/json; charset=${'x'.repeat(25)}` },
      'The body has an unsupported charset. Send it in UTF-8.',
    ],
    [{ 'content-type': 'application/json; charset=<b>' }, 'The body has an unsupported charset. Send it in UTF-8.'],
    [{ 'content-type': 'text/plain; charset=latin1' }, 'The body is not application/json.'],
    [{ 'content-encoding': 'gzip, br' }, 'The body has the content encoding gzip, br. Send it without one.'],
    [{ 'content-encoding': '<b>' }, 'The body has an unsupported content encoding. Send it without one.'],
  ])('message of 415 names the charset or the encoding for the headers %j', async (headers, message) => {
    const response = await tenant.runtime(contract.templates.create, templateBody(), { headers })
    expect([response.status, response.envelope]).toMatchObject([415, { code: 'UNSUPPORTED_MEDIA_TYPE', message }])
  })

  it('request body in gzip is refused, and one with identity is accepted', { tags: 'bodies/2' }, async () => {
    const encoded = (encoding: string) =>
      tenant.runtime(contract.templates.create, templateBody(), { headers: { 'content-encoding': encoding } })
    expect((await encoded('gzip')).status).toBe(415)
    expect((await encoded('identity')).status).toBe(201)
  })

  it('request body of 16 JSON levels is accepted, one of 17 is INVALID_JSON', { tags: 'bodies/2' }, async () => {
    const nested = (levels: number) => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`
    const scene = await Scene.of(server, contract.templates.create, tenant)
    expect((await scene.send({ body: nested(16) })).code).toBe('VALIDATION_FAILED')
    expect((await scene.send({ body: nested(17) })).code).toBe('INVALID_JSON')
    expect((await scene.send({ body: `${'['.repeat(30_000)}${']'.repeat(30_000)}` })).code).toBe('INVALID_JSON')
  })

  it.each([
    ['truncated', '{"name":'],
    ['with a comment', '{} // x'],
    ['with a trailing comma', '{"a":1,}'],
    ['in single quotes', "{'a':1}"],
    ['two documents', '{}{}'],
    ['not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ['in UTF-16', Buffer.from('{}', 'utf16le')],
    ['with a byte order mark', '\ufeff{}'],
    ['NaN', '{"a":NaN}'],
  ])('request body of malformed JSON is refused as INVALID_JSON: %s', { tags: 'bodies/1' }, async (_what, body) => {
    const scene = await Scene.of(server, contract.templates.create, tenant)
    expect(await scene.send({ body })).toMatchObject({ status: 400, code: 'INVALID_JSON' })
  })

  it('body member __proto__ is refused at any depth, also if escaped', { tags: 'bodies/4' }, async () => {
    const scene = await Scene.of(server, contract.templates.create, tenant)
    for (const body of [
      '{"__proto__":{"name":"x"}}',
      '{"metadata":{"__proto__":"x"}}',
      '{"\\u005f_proto__":1}',
      '{"a":[{"b":{"__proto__":null}}]}',
    ]) {
      const response = await scene.send({ body })
      expect([body, response.code]).toEqual([body, 'VALIDATION_FAILED'])
      expect(response.details.errors).toMatchObject([{ pointer: expect.stringMatching(/__proto__$/) }])
    }
    expect(Object.prototype).not.toHaveProperty('name')
  })
})

describe('validation of a body', () => {
  it('refusal of a body names every missing member', async () => {
    const response = await tenant.runtime(contract.templates.create, {} as never)
    const missing = (response.details.errors as { pointer: string; code: string }[]).map(
      (it) => `${it.pointer} ${it.code}`,
    )
    expect(missing.sort()).toEqual(
      Object.keys(templateBody())
        .map((name) => `/${name} required`)
        .sort(),
    )
  })

  it.each([
    ['externalIssueId', 'external_issue_id'],
    ['external_isue_id', 'external_issue_id'],
    ['recipient', undefined],
    ['EXTERNAL_ISSUE_ID', 'external_issue_id'],
    ['zzz', undefined],
  ])('unknown member %s is refused, with %s', { tags: ['envelope/2', 'unknown-members/1'] }, async (name, meant) => {
    const input = { template_id: 'x', external_issue_id: 'y', recipient_user_id: 'z', [name]: 'v' }
    const response = await tenant.runtime(contract.vouchers.issue, input)
    expect(response.details.errors).toEqual([
      {
        pointer: `/${name}`,
        code: 'additionalProperties',
        message: 'is not known here',
        ...(meant === undefined ? {} : { suggestion: `did you mean ${meant}?` }),
      },
    ])
  })

  it.each([0, -1, 1_000_000_001, 1e300, 1.5])('issue_limit %d is refused', async (issue_limit) =>
    expect(await issuesOf({ issue_limit })).toMatchObject([{ pointer: '/issue_limit' }]),
  )

  it.each(['\u0000', '\u001b[31m', 'a\nb', '\u007f', '\u0085', '\u202e', '\u2066', '\ud800', 'x\udc00'])(
    'text in a body with %j is refused',
    async (bad) => {
      for (const member of ['name', 'issuer_name', 'fulfiller_name', 'description']) {
        expect(await issuesOf({ [member]: `a${bad}` })).toMatchObject([{ pointer: `/${member}` }])
      }
      expect(await issuesOf({ metadata: { key: bad } })).toMatchObject([{ pointer: '/metadata/key' }])
    },
  )

  it.each(['', 'k'.repeat(41), 'a\u0000', '\ud800', 'a\u202e'])('metadata key %j is refused', async (key) =>
    expect(await issuesOf({ metadata: { [key]: 'v' } })).toMatchObject([{ pointer: `/metadata/${key}` }]),
  )
  it('text with over 30 combining marks in a row is refused before normalisation', { tags: 'text/1' }, async () => {
    const marks = (count: number) => `a${'\u0301\u0323'.repeat(count / 2)}`
    expect(await issuesOf({ metadata: { a: marks(30) } })).toBeNull()
    expect(await issuesOf({ metadata: { a: marks(32) } })).toMatchObject([{ pointer: '/metadata/a', code: 'format' }])
    expect(await issuesOf({ metadata: { [marks(20_000)]: 'a' } })).toMatchObject([{ code: 'format' }])
  })

  it.each(['exchange', 'anything_else', 'a', `a${'1'.repeat(63)}`])('template type %s is accepted', async (type) =>
    expect(await issuesOf({ type })).toBeNull(),
  )
  it.each(['', 'Exchange', '1a', 'a-b', 'a b', `a${'1'.repeat(64)}`, 'a\n'])(
    'template type %j is refused',
    async (type) => expect(await issuesOf({ type })).toMatchObject([{ pointer: '/type' }]),
  )
  it('invalid fulfillment_category is refused with the three valid ones', async () =>
    expect(await issuesOf({ fulfillment_category: 'digital' })).toMatchObject([
      { message: 'must be one of physical_goods, offline_service, ecommerce_discount' },
    ]))

  const fixed = (starts_at: unknown, ends_at: unknown) => ({ validity: { type: 'fixed', starts_at, ends_at } })
  const relative = (rest: object) => ({ validity: { type: 'relative', duration_days: 5, ...rest } })

  it.each([
    ['a date without a time', fixed('2027-01-01', '2028-01-01T00:00:00Z'), '/validity/starts_at'],
    ['30 February', fixed('2027-02-30T00:00:00Z', '2028-01-01T00:00:00Z'), '/validity/starts_at'],
    ['hour 24', fixed('2027-01-01T00:00:00Z', '2028-01-01T24:00:00Z'), '/validity/ends_at'],
    ['a number', fixed(5, '2028-01-01T00:00:00Z'), '/validity/starts_at'],
    ['an end before its start', fixed('2028-01-01T00:00:00Z', '2027-01-01T00:00:00Z'), '/validity/ends_at'],
    ['an end equal to its start', fixed('2028-01-01T00:00:00Z', '2028-01-01T01:00:00+01:00'), '/validity/ends_at'],
    ['a negative delay', relative({ delay_days: -1 }), '/validity/delay_days'],
    ['another type', { validity: { type: 'monthly' } }, '/validity/type'],
    ['no type', { validity: {} }, '/validity/type'],
    ['text instead of an object', { validity: 'forever' }, '/validity'],
    ['a member of the other type', relative({ starts_at: '2027-01-01T00:00:00Z' }), '/validity/starts_at'],
  ])('template validity with %s is refused', async (_what, overrides, pointer) => {
    const issues = (await issuesOf(overrides)) as { pointer: string }[]
    expect(issues.map((it) => it.pointer)).toContain(pointer)
  })
})
