import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Endpoint, membersOf } from '../contract/endpoint.js'
import type { ValidationIssue } from '../contract/envelope.js'
import { type Refusal, refuse } from '../contract/errors.js'
import { input as strictInput } from '../contract/fields.js'
import type { ObjectSchema } from '../contract/schema.js'
import { fingerprint } from '../domain/canonical.js'
import { parseIdempotencyKey } from '../domain/idempotency.js'
import type { IdempotencyClaim } from '../store/idempotency.js'
import { authenticate, type Caller } from './auth.js'
import type { Deps } from './deps.js'
import type { Fault } from './faults.js'
import type { Call, Checks, Handler, Reply } from './handler.js'
import { sendBodyFailure, sendFailure } from './http/envelope.js'
import { type Form, loadForm } from './http/form.js'
import { headerValues, isPlainUtf8 } from './http/headers.js'
import type { InFlight } from './http/in-flight.js'
import { readJson } from './http/read-body.js'
import type { Outer } from './transport/inner-exchange.js'

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null
  }
}

type AnyHandler = Handler<Endpoint>

interface Binding {
  readonly app: FastifyInstance
  readonly deps: Deps
  readonly inFlight: InFlight
  readonly checks: Checks
}

const NO_QUERY = strictInput({})

/**
 * Makes a route of an endpoint and its handler. The order of checks is DECISIONS.md#order-of-checks: credential,
 * application, feature, scope and rate limit before the body is read; then body, Idempotency-Key, handler.
 */
export function bind(binding: Binding, endpoint: Endpoint, handle: AnyHandler): void {
  const { app, deps, checks } = binding
  const query = endpoint.query ?? NO_QUERY
  const check = checks[endpoint.id] as ((body: unknown) => ReturnType<Checks[string]>) | undefined
  let form: Form | undefined

  app.route({
    method: endpoint.method,
    url: endpoint.path,
    config: { endpoint },
    ...(endpoint.streams ? { exposeHeadRoute: false } : {}),

    onRequest: (request, reply, done) => {
      admit(deps, endpoint, request, reply).then((refusal) => {
        if (refusal !== null) sendFailure(request, reply, refusal)
        else if (!isPlainUtf8(request)) sendFailure(request, reply, refuse('UNSUPPORTED_MEDIA_TYPE'))
        else done()
      }, done)
    },

    // Answers nothing, since Fastify would wait for a reply as for a promise.
    handler: (request, reply) => {
      respond(request, reply).catch((error: unknown) => reply.send(error))
    },
  })

  async function respond(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const refused = (refusal: Refusal): void => {
      sendFailure(request, reply, refusal)
    }
    form ??= await loadForm(endpoint, query)
    const reading = readJson(request)
    const read = reading instanceof Promise ? await reading : reading
    if (!read.ok) {
      sendBodyFailure(request, reply, read)
      return
    }
    const params = request.params as Record<string, string>
    const queryInput = readQuery(request.query as Record<string, unknown>, query)
    const absent = endpoint.bodyOptional ? {} : undefined
    const body = endpoint.body === undefined || read.value !== undefined ? read.value : absent
    const issues =
      form.validate(params, queryInput, body) ??
      saidTwice(queryInput, body) ??
      (check === undefined ? null : check(body))
    if (issues !== null && issues.length > 0) return refused(refuse('VALIDATION_FAILED', { errors: issues }))

    const claim = readClaim(request, endpoint, body)
    if (claim !== undefined && 'ok' in claim) return refused(claim)

    const caller = request.caller as Caller
    const input = { ...params, ...queryInput, ...(body as object | undefined) }
    const call = {
      caller,
      claim,
      isHead: request.method === 'HEAD',
      isInner: request.inner !== null,
      gone: () => goneSignal(connectionOf(request, reply)),
    } as Call<Endpoint>
    const run = () => withFault(deps, endpoint, connectionOf(request, reply), () => handle(input, call))
    const result = await (claim === undefined ? run() : binding.inFlight.run(caller.applicationId, claim, run))
    send(request, reply, endpoint, result, form)
  }
}

/** Who calls and whether it may, before anything of the body is read. */
async function admit(
  deps: Deps,
  endpoint: Endpoint,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Refusal | null> {
  const caller = await authenticate(deps, endpoint, request)
  if ('ok' in caller) {
    if (!caller.code.startsWith('TOKEN_')) return caller
    const verdict = deps.limits.take('auth_failures', deps.addresses.limitSubject(request))
    return verdict === null || verdict.allowed ? caller : limited(verdict.resetSeconds)
  }
  request.caller = caller
  if (caller.kind === 'token') deps.tokenUses.note(caller.tokenId, deps.clock.now())
  request.applicationId = caller.applicationId === '' ? null : caller.applicationId
  if (endpoint.limit === undefined) return null
  const verdict = deps.limits.take(endpoint.limit, caller.botId || caller.applicationId || caller.accountId)
  if (verdict === null) return null
  if (caller.kind === 'token' || caller.kind === 'bot') {
    const { policy, remaining, resetSeconds } = verdict
    reply.header('ratelimit-policy', `"${endpoint.limit}";q=${policy.calls};w=${policy.seconds}`)
    reply.header('ratelimit', `"${endpoint.limit}";r=${remaining};t=${resetSeconds}`)
  }
  return verdict.allowed ? null : limited(verdict.resetSeconds)
}

function limited(retryAfterSeconds: number): Refusal<'RATE_LIMITED'> {
  return { ...refuse('RATE_LIMITED'), retryAfterSeconds }
}

/** Query values are text: whole numbers, true and false are read where the contract wants them, nothing else is. */
function readQuery(query: Record<string, unknown>, schema: ObjectSchema): Record<string, unknown> {
  const members = membersOf(schema)
  const read = Object.entries(query).map(([name, value]) => {
    const { type } = (members[name] ?? {}) as { type?: string }
    if (type === 'integer' && typeof value === 'string' && /^\d{1,15}$/.test(value)) return [name, Number(value)]
    if (type === 'boolean' && (value === 'true' || value === 'false')) return [name, value === 'true']
    return [name, value]
  })
  // Not by assignment, which would lose a member named __proto__ before it is refused.
  return Object.fromEntries(read)
}

/** A member that the query and the body both name must have one value. */
function saidTwice(query: Record<string, unknown>, body: unknown): ValidationIssue[] | null {
  const inBody = (body ?? {}) as Record<string, unknown>
  const name = Object.keys(query).find((it) => Object.hasOwn(inBody, it) && inBody[it] !== query[it])
  if (name === undefined) return null
  return [{ pointer: `/${name}`, code: 'conflict', message: 'differs between the query and the body' }]
}

/** Where the answer goes out: for a call from an envelope, over the connection that this came by. */
function connectionOf({ inner, raw }: FastifyRequest, reply: FastifyReply): Outer {
  return inner?.outer ?? { request: raw, response: reply.raw }
}

/**
 * Aborted when the connection ends before the answer, or the caller ends its side of it: who left and who only stopped
 * sending look the same, and an answer that comes early serves the second too.
 */
function goneSignal({ request: { socket }, response }: Outer): AbortSignal {
  const controller = new AbortController()
  const leave = () => controller.abort()
  if (response.destroyed || socket.readableEnded) leave()
  socket.once('end', leave)
  response.once('close', () => {
    socket.removeListener('end', leave)
    leave()
  })
  return controller.signal
}

function readClaim(
  request: FastifyRequest,
  endpoint: Endpoint,
  body: unknown,
): IdempotencyClaim | undefined | Refusal<'IDEMPOTENCY_KEY_REQUIRED' | 'IDEMPOTENCY_KEY_INVALID'> {
  if (endpoint.idempotent === undefined) return undefined
  const values = headerValues(request.raw, 'idempotency-key')
  if (values.length === 0) return endpoint.idempotent === true ? refuse('IDEMPOTENCY_KEY_REQUIRED') : undefined
  const key = values.length === 1 ? parseIdempotencyKey(values[0] as string) : null
  if (key === null) return refuse('IDEMPOTENCY_KEY_INVALID')
  const path = request.url.split('?', 1)[0] as string
  return { key, fingerprint: fingerprint(endpoint.method, path, body) }
}

type Faulty = Promise<Reply<Endpoint> | Refusal<'SERVICE_UNAVAILABLE'>>

/** Meets the fault that was set for this endpoint, if any. */
function withFault(deps: Deps, endpoint: Endpoint, connection: Outer, call: () => Promise<Reply<Endpoint>>): Faulty {
  const fault = deps.faults.next(endpoint.id)
  return fault === undefined ? call() : deps.faults.track(meet(fault, deps, connection, call))
}

async function meet(fault: Fault, deps: Deps, connection: Outer, call: () => Promise<Reply<Endpoint>>): Faulty {
  if (fault.delay_ms !== null) {
    try {
      await deps.faults.delay(fault.delay_ms)
    } catch {
      return { ...refuse('SERVICE_UNAVAILABLE'), retryAfterSeconds: 1 }
    }
  }
  if (fault.kind === 'error') return { ...refuse('SERVICE_UNAVAILABLE'), retryAfterSeconds: 1 }
  const result = await call()
  // The answer is made as ever, for the log and the metrics, and goes nowhere.
  if (fault.kind === 'drop_response') connection.response.destroy()
  return result
}

function send(
  request: FastifyRequest,
  reply: FastifyReply,
  endpoint: Endpoint,
  result: Reply<Endpoint> | Refusal,
  form: Form,
): FastifyReply {
  if (!result.ok) return sendFailure(request, reply, result)
  if (endpoint.streams) return reply.type('application/x-ndjson').send(result.data)
  if (result.replayed) {
    request.replayed = true
    reply.header('idempotent-replayed', 'true')
  }
  return reply
    .code(result.status ?? endpoint.status)
    .header('content-type', 'application/json; charset=utf-8')
    .send(form.write(result.data, request.id))
}
