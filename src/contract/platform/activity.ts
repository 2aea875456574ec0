import { get, group, post } from '../endpoint.js'
import { ids, input, instant, laterInstant, nullable, oneOf, requestId, secret } from '../fields.js'
import { exampleOf, type Static, Type, withExample } from '../schema.js'
import { EXAMPLE_URL } from '../webhook.js'
import { type FaultKind, faultKinds } from './fault-kinds.js'

// Events of a server in real time (rules/operator.md#activity).

export { CAPTURED_BYTES_MAX, HIDDEN, SECRET_NAME } from './captured.js'

export const plantedFault = (description: string) =>
  Type.Optional(Type.Unsafe<FaultKind>({ type: 'string', enum: [...faultKinds], description }))

/** One line of the request log, without query, body and headers of the request. */
export const requestLogEntry = Type.Object({
  time: instant,
  request_id: requestId,
  endpoint: nullable(Type.String({ description: 'contract id, null outside the routes' }), 'vouchers.redeem'),
  method: Type.String({ example: 'POST' }),
  path: nullable(
    Type.String({ description: 'the route with its parameters by name' }),
    '/api/v1/open-platform/vouchers/redeem',
  ),
  status: Type.Integer({ example: 200 }),
  code: nullable(Type.String({ description: 'failure code' })),
  application_id: nullable(ids.appId),
  voucher_id: nullable(ids.voucherId),
  replayed: Type.Boolean(),
  duration_ms: Type.Number({ example: 3.2 }),
  account_id: Type.Optional(Type.String({ description: 'account of an account JWT' })),
  bot_id: Type.Optional(Type.String({ description: 'bot whose token the call has, even if it was refused' })),
  by_operator: Type.Optional(Type.Boolean({ description: 'true for a call of the operator in place of its caller' })),
  fault: plantedFault('planted fault that affected the call'),
})
export type RequestLogEntry = Static<typeof requestLogEntry>

const headers = Type.Array(
  Type.Unsafe<[name: string, value: string]>({
    type: 'array',
    items: { type: 'string' },
    minItems: 2,
    maxItems: 2,
    description: 'name and value',
  }),
)
const body = Type.String({ description: 'base64, at most 64 KiB; null if empty, not captured or not shown' })
const body_bytes = (example: number) =>
  Type.Integer({ description: 'length of the body before secrets were replaced', example })

/** Headers of a delivery. */
export const deliveryHeaders = withExample(headers, [
  ['X-Platform-Signature-V2', 'c0ffee'.padEnd(64, '0')],
  ['X-Platform-Timestamp', '1801396800'],
  ['X-Platform-Update-Id', '17'],
])
/** Base64 of `{"update_id":17}`. */
export const EXAMPLE_BODY = 'eyJ1cGRhdGVfaWQiOjE3fQ=='

/** Request and response with secrets replaced by HIDDEN. */
export const exchange = Type.Object({
  request: Type.Object({
    method: Type.String({ example: 'POST' }),
    url: Type.String({ example: EXAMPLE_URL }),
    headers: deliveryHeaders,
    body: nullable(body, EXAMPLE_BODY),
    body_bytes: body_bytes(16),
  }),
  response: nullable(
    Type.Object({
      status: nullable(Type.Integer(), 401),
      headers: withExample(headers, [['Date', 'Sun, 31 Jan 2027 00:00:00 GMT']]),
      body: nullable(body, 'bm8='),
      body_bytes: body_bytes(2),
    }),
  ),
})
export type CapturedExchange = Static<typeof exchange>

/** One attempt of a delivery, or one delivery that a listener received. */
const deliveryActivity = Type.Object({
  delivery_id: Type.String(),
  update_id: Type.Unsafe<number | string | null>({ type: ['integer', 'string', 'null'] }),
  update_type: nullable(Type.String()),
  bot_id: nullable(Type.String()),
  voucher_id: nullable(Type.String()),
  at: instant,
  attempt: nullable(Type.Integer()),
  manual: Type.Boolean(),
  replay: Type.Boolean(),
  status: nullable(Type.Integer()),
  error: nullable(Type.Object({ code: Type.String(), message: Type.String() })),
  duration_ms: Type.Number(),
  verdict: nullable(oneOf(['ok', 'duplicate', 'refused'])),
  reason: nullable(Type.String({ description: 'why a listener refused it' })),
  explanation: nullable(Type.String({ description: 'the sentence of `webhook verify --explain`' })),
  fault: plantedFault('planted fault that affected the attempt'),
})
export type DeliveryActivity = Static<typeof deliveryActivity>

const seq = Type.Integer({ description: 'increases with each line of this process', example: 12 })

/** One line of the activity stream. */
export const activityLine = Type.Union([
  Type.Object({ seq, kind: Type.Literal('request'), request: requestLogEntry, exchange: nullable(exchange, null) }),
  Type.Object({ seq, kind: Type.Literal('delivery'), delivery: deliveryActivity, exchange: nullable(exchange) }),
  Type.Object({
    seq,
    kind: Type.Literal('state'),
    what: oneOf(['clock', 'faults', 'reviews', 'reset', 'restore', 'seed']),
    at: instant,
  }),
  Type.Object({
    seq,
    kind: Type.Literal('omitted'),
    count: Type.Integer({ description: 'lines that a burst left out' }),
  }),
  // Between the stored lines and the live ones of `follow=true`, with the number of the newest stored line.
  Type.Object({ seq, kind: Type.Literal('live') }),
])
export type ActivityLine = Static<typeof activityLine>
export type StateChange = Extract<ActivityLine, { kind: 'state' }>['what']

/** Maximum length of a body that names lines. */
const RECORDING_BYTES_MAX = 262_144

const flag = Type.Optional(oneOf(['true', 'false']))

export const platformActivity = group('platform', {
  requests: get('/_platform/v1/requests', {
    summary: 'Read the request log as NDJSON; follow=true keeps it open',
    query: input({ follow: Type.Optional(oneOf(['true', 'false'])) }),
    output: requestLogEntry,
    streams: true,
  }),

  openPage: post('/_platform/v1/page-tickets', {
    summary: 'Create a link that opens the page of this server once',
    unlisted: true,
    repeatable: true,
    output: Type.Object({
      url: Type.String({
        description: 'the one-time secret is in the fragment',
        example: 'http://127.0.0.1:8420/_platform/ui/#ticket=q83vEiM0RVZneImavN7_EjRWeJq83v8BI0VniavN7_8',
        ...secret,
      }),
      expires_at: laterInstant,
    }),
    evidence: { url: 'text' },
    failures: ['PAGE_OFF'],
  }),

  activity: get('/_platform/v1/activity', {
    summary: 'Read requests, deliveries and changes as NDJSON; follow=true keeps it open, bodies=true adds exchanges',
    query: input({ follow: flag, bodies: flag, names: flag }),
    output: activityLine,
    streams: true,
  }),

  recordScenario: post('/_platform/v1/recordings', {
    summary: 'Turn the activity that the server still has into a scenario file or a test',
    unlisted: true,
    repeatable: true,
    body: input({
      ids: Type.Optional(
        Type.Array(Type.String({ maxLength: 64 }), {
          minItems: 1,
          maxItems: 2_000,
          description: 'requests and deliveries to take; default: all',
          example: [exampleOf(requestId)],
        }),
      ),
      format: Type.Optional(oneOf(['scenario', 'test'])),
    }),
    bodyOptional: true,
    bodyBytesMax: RECORDING_BYTES_MAX,
    verbatim: true,
    output: Type.Object({
      text: nullable(
        Type.String({ description: 'the file, YAML or a test for node:test; null if no step was recorded' }),
        'name: Recorded at 2027-01-31 12:00\nserver: { own: true }\nsteps:\n  - call: apps.list\n    expect: { status: 200 }\n',
      ),
      steps: Type.Integer({ example: 1 }),
      remarks: Type.Array(Type.String(), { description: 'what no step can repeat; comments of the file' }),
    }),
  }),
})
