import { type CredentialKind, type Endpoint, failuresOf, membersOf, pathParameters } from '../endpoint.js'
import { type FailureCode, failures } from '../errors.js'
import { endpoints as allEndpoints } from '../index.js'
import { exampleOf, type Schema } from '../schema.js'
import { openEndpoints } from '../secure.js'
import { bodyExample, dataExample, type Json, type JsonObject } from './examples.js'
import {
  componentExamples,
  componentSchemas,
  failureEnvelope,
  failureExamples,
  schemaOf,
  successEnvelope,
  successExample,
  webhookOperations,
} from './schema.js'

interface OpenApiOptions {
  /** Version of the package. */
  readonly version: string
  /** URL of the server; default: the default address of a local server. */
  readonly serverUrl?: string
}

const securitySchemes: Readonly<Record<CredentialKind, JsonObject>> = {
  token: {
    type: 'http',
    scheme: 'bearer',
    description: 'An application token (`sop_`), for calls of trusted servers.',
  },
  bot: { type: 'http', scheme: 'bearer', description: 'A bot token (`sbot_`), for calls of a bot.' },
  jwt: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'An account JWT, for the console.' },
  operator: { type: 'http', scheme: 'bearer', description: "The operator's key (`opk_`), for the platform side." },
}

export const tagDescriptions: Readonly<Record<string, string>> = {
  apps: 'Applications of an account',
  tokens: 'Tokens of an application',
  templates: 'Templates, from which vouchers are issued',
  vouchers: 'Issue, verify, redeem and reverse',
  bots: 'Bots: their console, their messages and updates',
  webhook: 'Webhooks that receive the updates of a bot',
  platform: "The operator's side of a local server",
  secure: 'The encrypted transport: negotiation, and calls inside envelopes',
  health: 'Health checks and metrics',
}

/** Returns the endpoints as an OpenAPI 3.1 document. */
export function openApiDocument(options: OpenApiOptions, endpoints = allEndpoints): JsonObject {
  const paths: Record<string, Record<string, Json>> = {}
  for (const endpoint of endpoints) {
    const path = endpoint.path.replaceAll(/:([A-Za-z]+)/g, '{$1}')
    paths[path] = { ...paths[path], [endpoint.method.toLowerCase()]: operationOf(endpoint) }
  }
  const groups = [...new Set([...endpoints, ...openEndpoints].map(groupOf)), 'health']
  return {
    openapi: '3.1.0',
    info: {
      title: 'Voucher service',
      version: options.version,
      summary: 'Issue, verify, redeem and reverse vouchers of independent applications.',
      description:
        'Runtime calls carry an application token, console calls an account JWT, calls of a bot its bot token. Every JSON response is an envelope; `webhooks` has what the server sends, and how it is signed.',
      contact: { name: 'voucherctl' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: options.serverUrl ?? 'http://127.0.0.1:8420' }],
    tags: groups.map((name) => ({ name, description: tagDescriptions[name] ?? name })),
    paths: { ...paths, ...securePaths(), ...healthPaths },
    webhooks: webhookOperations(),
    components: {
      securitySchemes,
      headers,
      schemas: componentSchemas(),
      examples: componentExamples(),
      responses: {
        MethodNotAllowed: failureResponse(['METHOD_NOT_ALLOWED'], ['X-Request-Id', 'Allow']),
      },
    },
  }
}

const text: JsonObject = { type: 'string' }

/** Descriptions of the response headers, by name. */
const headers = {
  'X-Request-Id': { description: 'The id of the request, as in the body', schema: text },
  RateLimit: { description: 'What is left of the limit: `"issue";r=5999;t=60`, r calls for t seconds', schema: text },
  'RateLimit-Policy': { description: 'The limit: `"issue";q=6000;w=60`, q calls in w seconds', schema: text },
  'Retry-After': { description: 'Seconds to wait', schema: { type: 'integer', minimum: 0 } },
  'WWW-Authenticate': {
    description: '`Bearer`, `Bearer error="invalid_token"`, or `Bearer error="insufficient_scope", scope="…"`',
    schema: text,
  },
  Allow: { description: 'The methods of the path', schema: text },
  Upgrade: { description: '`platform-secure/1`: use the encrypted transport', schema: text },
  'Idempotent-Replayed': {
    description: '`true` when this is the response of an earlier call',
    schema: { type: 'string', enum: ['true'] },
  },
} as const
type HeaderName = keyof typeof headers

const headersOf = (names: readonly HeaderName[]): JsonObject =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

const methodNotAllowed: JsonObject = { '405': { $ref: '#/components/responses/MethodNotAllowed' } }

/** Returns the rate-limit headers of a response: only for token callers, although others have limits too. */
const rateHeaders = ({ caller, limit }: Pick<Endpoint, 'caller' | 'limit'>): readonly HeaderName[] =>
  limit !== undefined && (caller === 'token' || caller === 'bot') ? ['RateLimit', 'RateLimit-Policy'] : []

const groupOf = ({ id }: { readonly id: string }) => id.slice(0, id.indexOf('.'))

const operation = (id: string, summary: string, responses: JsonObject, more: JsonObject = {}): JsonObject => ({
  operationId: id,
  summary,
  description: `${summary}.`,
  tags: [groupOf({ id })],
  security: [],
  ...more,
  responses: { ...responses, ...methodNotAllowed },
})

const requestBody = (endpoint: Pick<Endpoint, 'body'>, media: string, required: boolean): JsonObject =>
  endpoint.body === undefined
    ? {}
    : {
        requestBody: {
          required,
          content: { [media]: { schema: schemaOf(endpoint.body), example: bodyExample(endpoint) } },
        },
      }

function operationOf(endpoint: Endpoint): JsonObject {
  const { id, summary, caller, scope, bodyOptional } = endpoint
  const codes = failuresOf(endpoint)
  // An open poll checks its credential again.
  const late = id === 'bots.updates' ? codes : endpoint.failures
  const responses = { ...successesOf(endpoint), ...failureResponses(codes, rateHeaders(endpoint), late) }
  return operation(id, summary, responses, {
    ...(scope === undefined ? {} : { description: `${summary}. The token needs the scope \`${scope}\`.` }),
    security: [{ [caller]: [] }],
    ...(scope === undefined ? {} : { 'x-required-scope': scope }),
    parameters: parametersOf(endpoint),
    ...requestBody(endpoint, 'application/json', bodyOptional !== true),
  })
}

function parametersOf({ path, params, query, idempotent }: Endpoint): JsonObject[] {
  const inPath = membersOf(params)
  const inQuery = membersOf(query)
  const parameters: JsonObject[] = [
    ...pathParameters(path).map((name) => ({
      name,
      in: 'path',
      required: true,
      schema: schemaOf(inPath[name]),
      example: exampleOf(inPath[name] as Schema<string>),
    })),
    ...Object.entries(inQuery).map(([name, schema]) => ({ name, in: 'query', schema: schemaOf(schema) })),
  ]
  if (idempotent !== undefined) {
    parameters.push({
      name: 'Idempotency-Key',
      in: 'header',
      required: idempotent === true,
      description: 'Unique for the business action. A retry sends the same key and the same body.',
      schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
      example: 'order-1001-issue',
    })
  }
  return parameters
}

function successesOf(endpoint: Endpoint): JsonObject {
  const { status, statuses = [], output, streams, idempotent } = endpoint
  const data = dataExample(endpoint)
  const names: HeaderName[] = ['X-Request-Id', ...rateHeaders(endpoint)]
  const response: JsonObject = {
    description: streams ? 'One JSON document per line' : 'Success',
    headers: headersOf(idempotent ? [...names, 'Idempotent-Replayed'] : names),
    content: streams
      ? { 'application/x-ndjson': { schema: schemaOf(output), example: data } }
      : { 'application/json': { schema: successEnvelope(schemaOf(output)), example: successExample(data) } },
  }
  return Object.fromEntries([...new Set([status, ...statuses])].map((code) => [String(code), response]))
}

/** Returns one response per status, with its failure codes. Refusals before the rate limit lack rate-limit headers. */
type Codes = readonly FailureCode[]

/** @param late codes of checks after the rate limit */
function failureResponses(codes: Codes, rate: readonly HeaderName[] = [], late: Codes = []): JsonObject {
  const statuses = new Set(codes.map((code) => failures[code].status))
  return Object.fromEntries(
    [...statuses].map((status) => {
      const group = codes.filter((code) => failures[code].status === status)
      const isBeforeLimit = [401, 403, 426].includes(status) && !group.some((it) => late.includes(it))
      const names: HeaderName[] = ['X-Request-Id', ...(isBeforeLimit ? [] : rate), ...(ownHeaders[status] ?? [])]
      if (group.includes('IDEMPOTENCY_KEY_IN_PROGRESS')) names.push('Retry-After')
      return [String(status), failureResponse(group, names)]
    }),
  )
}

const ownHeaders: Readonly<Record<number, readonly HeaderName[]>> = {
  401: ['WWW-Authenticate'],
  403: ['WWW-Authenticate'],
  426: ['Upgrade'],
  429: ['Retry-After'],
  503: ['Retry-After'],
}

const failureResponse = (codes: readonly FailureCode[], names: readonly HeaderName[]): JsonObject => ({
  description: codes.map((code) => `${code}: ${failures[code].message}`).join(' '),
  headers: headersOf(names),
  content: { 'application/json': { schema: failureEnvelope(codes), examples: failureExamples(codes) } },
})

/** Paths of the encrypted transport, whose calls need no credential and whose successes have no envelope. */
function securePaths(): JsonObject {
  const operations = openEndpoints.map((endpoint) => {
    const { id, summary, method, path, media, status, output } = endpoint
    const success = {
      description: 'Success',
      headers: headersOf(['X-Request-Id']),
      content: { [media]: { schema: schemaOf(output), example: dataExample(endpoint) } },
    }
    const responses = { [status]: success, ...failureResponses([...endpoint.failures, 'INTERNAL_ERROR']) }
    return [path, { [method.toLowerCase()]: operation(id, summary, responses, requestBody(endpoint, media, true)) }]
  })
  return Object.fromEntries(operations)
}

/** Returns the response of a health check. @param data example value of every property */
const healthResponse = (properties: Readonly<Record<string, JsonObject>>, data: JsonObject): JsonObject => ({
  description: 'Success',
  headers: headersOf(['X-Request-Id']),
  content: {
    'application/json': {
      schema: successEnvelope({ type: 'object', required: Object.keys(properties), properties }),
      example: successExample(data),
    },
  },
})

const live = healthResponse(
  {
    status: { type: 'string', const: 'ok' },
    instanceId: { type: 'string', description: 'A new id after each start of the server' },
  },
  { status: 'ok', instanceId: '01JDKQ4Z8N6W2T5Y9RB3CV7HXN' },
)
const ready = healthResponse({ status: { type: 'string', const: 'ready' } }, { status: 'ready' })
const metrics: JsonObject = {
  description: 'Text format, for the local machine or with the bearer token of the operator',
  content: { 'text/plain': { schema: text, example: '# TYPE voucherctl_http_requests_total counter\n' } },
}

const healthPaths: JsonObject = {
  '/healthz': { get: operation('health.live', 'Check that the process responds', { '200': live }) },
  '/readyz': {
    get: operation('health.ready', 'Check that the server can use its store', {
      '200': ready,
      ...failureResponses(['SERVICE_UNAVAILABLE']),
    }),
  },
  '/metrics': {
    get: operation('health.metrics', 'Metrics for Prometheus', {
      '200': metrics,
      ...failureResponses(['ROUTE_NOT_FOUND']),
    }),
  },
}
