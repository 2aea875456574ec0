import { type CredentialKind, type Endpoint, failuresOf, membersOf, pathParameters } from './endpoint.js'
import { type FailureCode, failures } from './errors.js'
import {
  componentExamples,
  componentSchemas,
  failureEnvelope,
  failureExamples,
  type Json,
  type JsonObject,
  schemaOf,
  successEnvelope,
} from './openapi-schema.js'
import { openEndpoints } from './secure.js'

export interface OpenApiOptions {
  /** Of the package. */
  readonly version: string
  /** Default: the local server's usual address. */
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

const tagDescriptions: Readonly<Record<string, string>> = {
  apps: 'Applications of an account',
  tokens: 'Tokens of an application',
  templates: 'What vouchers are issued from',
  vouchers: 'Issue, verify, redeem and reverse',
  bots: 'Bots: their console, their messages and updates',
  webhook: 'Where the updates of a bot are delivered',
  platform: "The operator's side of a local server",
  secure: 'The encrypted transport: negotiation, and calls inside envelopes',
  health: 'Is the server alive and ready',
}

/** The endpoints as an OpenAPI 3.1 document. */
export function openApiDocument(endpoints: readonly Endpoint[], options: OpenApiOptions): JsonObject {
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
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: options.serverUrl ?? 'http://127.0.0.1:8420' }],
    tags: groups.map((name) => ({ name, description: tagDescriptions[name] ?? name })),
    paths: { ...paths, ...securePaths(), ...healthPaths },
    components: { securitySchemes, schemas: componentSchemas(), examples: componentExamples() },
  }
}

const groupOf = ({ id }: Pick<Endpoint, 'id'>) => id.slice(0, id.indexOf('.'))

function operationOf(endpoint: Endpoint): JsonObject {
  const { id, summary, caller, scope, body, bodyOptional } = endpoint
  const needs = scope === undefined ? '' : ` The token needs the scope \`${scope}\`.`
  return {
    operationId: id,
    summary,
    description: `${summary}.${needs}`,
    tags: [groupOf(endpoint)],
    security: [{ [caller]: [] }],
    ...(scope === undefined ? {} : { 'x-required-scope': scope }),
    parameters: parametersOf(endpoint),
    ...(body === undefined
      ? {}
      : {
          requestBody: { required: bodyOptional !== true, content: { 'application/json': { schema: schemaOf(body) } } },
        }),
    responses: { ...successesOf(endpoint), ...failureResponses(failuresOf(endpoint)) },
  }
}

function parametersOf({ path, params, query, idempotent }: Endpoint): JsonObject[] {
  const inPath = membersOf(params)
  const inQuery = membersOf(query)
  const parameters: JsonObject[] = [
    ...pathParameters(path).map((name) => ({ name, in: 'path', required: true, schema: schemaOf(inPath[name]) })),
    ...Object.entries(inQuery).map(([name, schema]) => ({ name, in: 'query', schema: schemaOf(schema) })),
  ]
  if (idempotent !== undefined) {
    parameters.push({
      name: 'Idempotency-Key',
      in: 'header',
      required: idempotent === true,
      description: 'Unique for the business action. A retry sends the same key and the same body.',
      schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
    })
  }
  return parameters
}

function successesOf({ status, statuses = [], output, streams, idempotent }: Endpoint): JsonObject {
  const replayed = { description: '`true` when an earlier call is answered again', schema: { type: 'string' } }
  const response: JsonObject = {
    description: streams ? 'One JSON document a line' : 'Done',
    ...(idempotent ? { headers: { 'Idempotent-Replayed': replayed } } : {}),
    content: streams
      ? { 'application/x-ndjson': { schema: schemaOf(output) } }
      : { 'application/json': { schema: successEnvelope(schemaOf(output)) } },
  }
  return Object.fromEntries([...new Set([status, ...statuses])].map((code) => [String(code), response]))
}

/** One response a status: its codes as an enum, an example for each. */
function failureResponses(codes: readonly FailureCode[]): JsonObject {
  const retryAfter = { description: 'seconds to wait', schema: { type: 'integer', minimum: 0 } }
  const statuses = new Set(codes.map((code) => failures[code].status))
  return Object.fromEntries(
    [...statuses].map((status) => {
      const group = codes.filter((code) => failures[code].status === status)
      return [
        String(status),
        {
          description: group.map((code) => `${code}: ${failures[code].message}`).join(' '),
          ...(status === 429 || status === 503 ? { headers: { 'Retry-After': retryAfter } } : {}),
          content: { 'application/json': { schema: failureEnvelope(group), examples: failureExamples(group) } },
        },
      ]
    }),
  )
}

/** The encrypted transport's own endpoints: no credential, and a success without the envelope. */
function securePaths(): JsonObject {
  const operations = openEndpoints.map(
    ({ id, summary, method, path, media, body, status, output, failures: codes }) => [
      path,
      {
        [method.toLowerCase()]: {
          operationId: id,
          summary,
          description: `${summary}.`,
          tags: [groupOf({ id })],
          security: [],
          ...(body === undefined
            ? {}
            : { requestBody: { required: true, content: { [media]: { schema: schemaOf(body) } } } }),
          responses: {
            [status]: { description: 'Done', content: { [media]: { schema: schemaOf(output) } } },
            ...failureResponses([...codes, 'INTERNAL_ERROR']),
          },
        },
      },
    ],
  )
  return Object.fromEntries(operations)
}

const statusOf = (
  operationId: string,
  summary: string,
  properties: Readonly<Record<string, JsonObject>>,
  codes: readonly FailureCode[],
): JsonObject => ({
  operationId,
  summary,
  tags: ['health'],
  security: [],
  responses: {
    '200': {
      description: 'Yes',
      content: {
        'application/json': {
          schema: successEnvelope({ type: 'object', required: Object.keys(properties), properties }),
        },
      },
    },
    ...failureResponses(codes),
  },
})

const healthPaths: JsonObject = {
  '/healthz': {
    get: statusOf(
      'health.live',
      'Whether the process answers',
      {
        status: { type: 'string', const: 'ok' },
        instanceId: { type: 'string', description: 'Another one after each start of the server' },
      },
      [],
    ),
  },
  '/readyz': {
    get: statusOf('health.ready', 'Whether calls can be served', { status: { type: 'string', const: 'ready' } }, [
      'SERVICE_UNAVAILABLE',
    ]),
  },
  '/metrics': {
    get: {
      operationId: 'health.metrics',
      summary: 'Metrics for Prometheus',
      tags: ['health'],
      security: [],
      responses: { '200': { description: 'Text format', content: { 'text/plain': { schema: { type: 'string' } } } } },
    },
  },
}
