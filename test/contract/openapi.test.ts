import { describe, expect, test } from 'vitest'
import { failuresOf } from '../../src/contract/endpoint.js'
import { failures } from '../../src/contract/errors.js'
import { instantInput } from '../../src/contract/fields.js'
import { contract, endpoints } from '../../src/contract/index.js'
import { bodyExample, dataExample } from '../../src/contract/openapi/examples.js'
import { openApiDocument } from '../../src/contract/openapi/openapi.js'
import { exampleOf, Type } from '../../src/contract/schema.js'
import { openEndpoints } from '../../src/contract/secure.js'
import { payloadSchemas } from '../../src/contract/update-payloads.js'
import { updateTypes } from '../../src/contract/updates.js'
import { lazyValidator } from '../../src/server/http/schema-validator.js'
import { webhookHeaders } from '../../src/webhook/index.js'

interface Operation {
  operationId: string
  parameters: { name: string; in: string; required?: boolean; example?: unknown }[]
  security: Record<string, unknown>[]
  requestBody?: { required: boolean; content: Record<string, Media> }
  responses: Record<string, Response>
  'x-required-scope'?: string
}
interface Media {
  schema: unknown
  example?: unknown
  examples?: Record<string, unknown>
}
interface Response {
  headers?: Record<string, unknown>
  content: Record<string, Media>
}
interface Document {
  paths: Record<string, Record<string, Operation>>
  webhooks: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, { enum?: string[] }>; responses: Record<string, Response> }
}

const read = () => JSON.parse(JSON.stringify(openApiDocument({ version: '1.2.3' }))) as Document
const document = read()
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), ...operation })),
)
const operationOf = (id: string) => operations.find(({ operationId }) => operationId === id) ?? expect.unreachable(id)

describe.each(endpoints.map((endpoint) => [endpoint.id, endpoint] as const))('%s', (id, endpoint) => {
  const operation = operationOf(id)

  test('OpenAPI operation has the method, path, credential and scope of its endpoint', () => {
    expect(`${operation.method} ${operation.path}`).toBe(
      `${endpoint.method} ${endpoint.path.replaceAll(/:(\w+)/g, '{$1}')}`,
    )
    expect(operation.security).toEqual([{ [endpoint.caller]: [] }])
    expect(operation['x-required-scope']).toBe(endpoint.scope)
  })

  test('OpenAPI operation lists every failure of its endpoint by status, with an example', () => {
    for (const code of failuresOf(endpoint)) {
      const response = operation.responses[String(failures[code].status)]
      expect(Object.keys(response?.content['application/json']?.examples ?? {}), code).toContain(code)
    }
  })

  test('OpenAPI operation has Idempotency-Key exactly if its endpoint does', { tags: 'idempotency-keys/2' }, () => {
    const header = operation.parameters.find(({ name }) => name === 'Idempotency-Key')
    expect(header?.required).toBe(endpoint.idempotent === undefined ? undefined : endpoint.idempotent === true)
  })
})

test('OpenAPI document lists every failure code', () => {
  expect(document.components.schemas.FailureCode?.enum).toEqual(Object.keys(failures))
})

test('OpenAPI document has /healthz, /readyz and /metrics without a credential', () => {
  for (const path of ['/healthz', '/readyz', '/metrics']) expect(document.paths[path]?.get?.security).toEqual([])
})

test('OpenAPI request body is required exactly if the endpoint requires it', () => {
  expect(operationOf('vouchers.reverse').requestBody?.required).toBe(false)
  expect(operationOf('vouchers.redeem').requestBody?.required).toBe(true)
})

test('OpenAPI document omits the operator endpoints of a server that does not serve them', () => {
  const { platform: _platform, ...published } = contract
  const served = Object.values(published).flatMap((group) => Object.values(group))
  const text = JSON.stringify(openApiDocument({ version: '1.2.3' }, served).paths)
  expect(text).not.toContain('/_platform/')
})

describe.each(endpoints.map((endpoint) => [endpoint.id, endpoint] as const))(
  'OpenAPI examples of %s',
  (_id, endpoint) => {
    test('OpenAPI examples of an endpoint pass the request and response validation of the server', () => {
      if (endpoint.body !== undefined) expect(lazyValidator(endpoint.body)(bodyExample(endpoint))).toBeNull()
      expect(lazyValidator(endpoint.output)(dataExample(endpoint))).toBeNull()
    })
  },
)

test.each(openEndpoints.map((it) => [it.id, it] as const))(
  'OpenAPI examples of %s match its schemas',
  (_id, endpoint) => {
    if (endpoint.body !== undefined) expect(lazyValidator(endpoint.body)(bodyExample(endpoint))).toBeNull()
    expect(lazyValidator(endpoint.output)(dataExample(endpoint))).toBeNull()
  },
)

test('exampleOf() throws for an object with a text that has no example', () => {
  const link = Type.Object({ title: Type.String(), url: Type.String({ example: 'https://shop.example/' }) })
  expect(() => exampleOf(link)).toThrow('No example of {"type":"object"')
  expect(exampleOf(Type.Object({ links: Type.Array(link) }))).toEqual({ links: [] })
})

test('OpenAPI document has examples of all path parameters, request bodies and successes', () => {
  for (const { operationId, parameters = [], requestBody, responses } of operations) {
    for (const it of parameters)
      if (it.in === 'path') expect(it.example, `${operationId} ${it.name}`).toBeTypeOf('string')
    const successes = Object.entries(responses).filter(([status]) => status.startsWith('2'))
    for (const { content } of [...successes.map(([, it]) => it), ...(requestBody === undefined ? [] : [requestBody])]) {
      for (const media of Object.values(content)) expect(media.example, operationId).toBeDefined()
    }
  }
})

test('OpenAPI document lists the response headers that the server sends', () => {
  const headersOf = (id: string, status: string) => Object.keys(operationOf(id).responses[status]?.headers ?? {})
  expect(headersOf('vouchers.redeem', '200')).toEqual([
    'X-Request-Id',
    'RateLimit',
    'RateLimit-Policy',
    'Idempotent-Replayed',
  ])
  expect(headersOf('vouchers.redeem', '401')).toEqual(['X-Request-Id', 'WWW-Authenticate'])
  expect(headersOf('bots.send', '403')).toEqual(['X-Request-Id', 'RateLimit', 'RateLimit-Policy', 'WWW-Authenticate'])
  expect(headersOf('bots.send', '401')).toEqual(['X-Request-Id', 'WWW-Authenticate'])
  expect(headersOf('bots.updates', '401')).toEqual([
    'X-Request-Id',
    'RateLimit',
    'RateLimit-Policy',
    'WWW-Authenticate',
  ])
  expect(headersOf('vouchers.redeem', '426')).toEqual(['X-Request-Id', 'Upgrade'])
  expect(headersOf('vouchers.redeem', '429')).toEqual(['X-Request-Id', 'RateLimit', 'RateLimit-Policy', 'Retry-After'])
  expect(headersOf('apps.create', '201')).toEqual(['X-Request-Id'])
  expect(headersOf('apps.create', '503')).toEqual(['X-Request-Id', 'Retry-After'])
  expect(Object.keys(document.components.responses.MethodNotAllowed?.headers ?? {})).toEqual(['X-Request-Id', 'Allow'])
})

test('OpenAPI document has no schema that combines members with untyped alternatives', () => {
  const found: string[] = []
  const walk = (value: unknown, at: string): void => {
    if (typeof value !== 'object' || value === null) return
    if ('properties' in value && ['allOf', 'anyOf', 'oneOf'].some((it) => it in value)) found.push(at)
    for (const [name, member] of Object.entries(value)) walk(member, `${at}/${name}`)
  }
  walk(document, '')
  expect(found).toEqual([])
})

describe('OpenAPI document covers checks that the server makes outside a schema', () => {
  test('OpenAPI document requires unique scopes and refuses dates with impossible values', () => {
    const text = JSON.stringify(operationOf('tokens.create').requestBody)
    expect(text).toContain('"uniqueItems":true')
    expect(JSON.stringify(operationOf('bots.apply').requestBody)).toContain('"uniqueItems":true')
    const { pattern, 'x-openapi': more } = instantInput as unknown as { pattern: string; 'x-openapi': unknown }
    expect(more).toEqual({ format: 'date-time' })
    const form = new RegExp(pattern, 'u')
    for (const it of ['2027-13-01T00:00:00Z', '2027-01-32T00:00:00Z', '2027-01-01T24:00:00Z', '2027-01-01T00:60:00Z']) {
      expect(form.test(it), it).toBe(false)
    }
    expect(form.test('2027-12-31T23:59:59.999+05:30')).toBe(true)
  })

  test('OpenAPI schema of secure.session has both names of the client key and no others', () => {
    const [schema] = Object.values(operationOf('secure.session').requestBody?.content ?? {}).map((it) => it.schema)
    expect(schema).toMatchObject({
      additionalProperties: false,
      properties: { clientPublicKey: {}, publicKey: {} },
    })
  })
})

describe('OpenAPI webhooks', () => {
  test.each(updateTypes)('OpenAPI webhook %s has the delivery headers, a schema and a matching example', (type) => {
    const operation = document.webhooks[type]?.post
    expect(operation?.parameters.map(({ name }) => name)).toEqual(Object.values(webhookHeaders))
    const [media] = Object.values(operation?.requestBody?.content ?? {})
    const example = media?.example as Record<string, unknown>
    expect([example.type, typeof example.update_id]).toEqual([type, 'number'])
    expect(lazyValidator(payloadSchemas[type])(example[type])).toBeNull()
  })

  test('webhooks in the OpenAPI document describe the signature of a delivery', () => {
    const signature = document.webhooks.message?.post?.parameters[0] as { description: string } | undefined
    for (const words of [
      'HMAC-SHA256',
      '64 lower-case hex digits',
      'bytes of the secret',
      'X-Platform-Timestamp, a dot',
    ])
      expect(signature?.description).toContain(words)
  })
})
