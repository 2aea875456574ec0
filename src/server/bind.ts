import type { Readable } from 'node:stream'
import { type Endpoint, membersOf } from '../contract/endpoint.js'
import type { ValidationIssue } from '../contract/envelope.js'
import { failures, type Refusal, refuse } from '../contract/errors.js'
import { input as strictInput } from '../contract/fields.js'
import type { ObjectSchema } from '../contract/schema.js'
import { fingerprint, type IdempotencyKey, parseIdempotencyKey } from '../domain/idempotency.js'
import { StoreUnavailable } from '../store/store.js'
import { authenticate } from './auth.js'
import { type Clock, TestClock } from './clock.js'
import type { Deps } from './deps.js'
import type { FaultedCall } from './faults.js'
import type { IdempotentCalls } from './gate.js'
import { type Call, type CallAs, type Handler, type Reply as HandlerReply, invalid } from './handler.js'
import {
  type ApiCall,
  type Caller,
  type Carrier,
  headerValues,
  type Result,
  refuseBody,
  streamReply,
} from './http/api-call.js'
import { readJson, refuseEncoding } from './http/body.js'
import type { EndpointCodec } from './http/endpoint-codec.js'
import type { Routes } from './http/routes.js'
import { rateLimited } from './limits.js'
import { voucherCallOf } from './observe/request-log.js'

interface Binding {
  readonly routes: Routes
  readonly deps: Deps
  readonly idempotentCalls: IdempotentCalls
  readonly callAs: CallAs
}

const NO_QUERY = strictInput({})

const noCheck = { check: undefined, bypassesGate: undefined }

/**
 * Creates the route of an endpoint. Its steps, until the first refusal (rules/calls.md#order-of-checks): credential,
 * application, feature and scope (`authenticate`), rate limit, body, input schema, Idempotency-Key header, handler. The
 * store operation of a handler replays an earlier response.
 */
export function bind(binding: Binding, endpoint: Endpoint, handler: Handler<Endpoint>): void {
  const { routes, deps, idempotentCalls, callAs } = binding
  const { check, handle, bypassesGate } = typeof handler === 'function' ? { ...noCheck, handle: handler } : handler
  const { gate } = deps
  const query = endpoint.query ?? NO_QUERY
  let codec: EndpointCodec | undefined

  routes.add({ method: endpoint.method, endpoint, refusesHead: endpoint.streams === true, admit, handle: respond })

  /** Runs the checks that need no body; null if the call may continue. */
  async function admit(exchange: ApiCall): Promise<Refusal | null> {
    exchange.generation = gate.generation
    const caller = await authenticate(deps, endpoint, exchange)
    if ('ok' in caller) return countFailedCredential(deps, exchange, caller)
    exchange.caller = caller
    if (caller.kind === 'token' && caller.tokenId !== '') deps.tokenUses.note(caller.tokenId, deps.clock.now())
    return takeRateLimit(deps, endpoint, caller, exchange) ?? refuseEncoding(exchange)
  }

  async function respond(exchange: ApiCall): Promise<Result> {
    const reading = readJson(exchange, endpoint.bodyBytesMax)
    // Most bodies have arrived: an await would only cost time.
    const read = reading instanceof Promise ? await reading : reading
    if (!read.ok) return refuseBody(exchange, read)
    const { validate, write } = (codec ??= await loadCodec())
    const body = read.value === undefined && endpoint.bodyOptional ? {} : read.value
    const call = () => runCall(exchange, body, validate)
    // Wait only after the body has arrived: a reset must not wait for a client that sends slowly.
    const result = await (bypassesGate ? call() : gate.run(call))
    return result.ok ? replyOf(exchange, endpoint, result, write, deps.clock) : result
  }

  async function loadCodec(): Promise<EndpointCodec> {
    const { codecOf } = await import('./http/endpoint-codec.js')
    return codecOf(endpoint, query)
  }

  async function runCall(
    exchange: ApiCall,
    body: unknown,
    validate: EndpointCodec['validate'],
  ): Promise<HandlerReply<Endpoint> | Refusal> {
    // Check the credential again if a reset or restore has replaced the state in which it was checked.
    const isOutdated = !bypassesGate && exchange.generation !== gate.generation
    const refusal = isOutdated ? await admit(exchange) : null
    if (refusal !== null) return refusal
    const { params } = exchange
    const queryValues = readQuery(exchange.query, query)
    const issues = validate(params, queryValues, body) ?? conflictOf(queryValues, body) ?? check?.(body) ?? []
    if (issues.length > 0) return invalid(...issues)
    const idempotencyKey = readIdempotencyKey(exchange, endpoint, body)
    if (idempotencyKey !== undefined && 'ok' in idempotencyKey) return idempotencyKey
    const input = { ...params, ...queryValues, ...(body as object | undefined) }
    const result = await runHandler(exchange, input, idempotencyKey, body)
    if (result.ok) exchange.voucher = voucherCallOf(endpoint.id, result.data, exchange.caller as Caller, idempotencyKey)
    else exchange.refusedVoucherId = result.voucherId ?? null
    return result
  }

  /** Runs the handler after a running call with the same idempotency key, whose record it can then replay. */
  function runHandler(
    exchange: ApiCall,
    input: Record<string, unknown>,
    idempotencyKey: IdempotencyKey | undefined,
    body: unknown,
  ): Promise<HandlerReply<Endpoint> | Refusal> {
    const call = callOf(exchange, idempotencyKey, callAs)
    const { carrier, target } = exchange
    const faulted: FaultedCall = {
      requestId: exchange.id,
      host: carrier.request.headers.host ?? '',
      path: target.split('?', 1)[0] as string,
      body,
      cut: (at) => {
        if (at === 'now') carrier.response.destroy()
        else carrier.cut = at
      },
      hold: (at, end) => {
        carrier.hold = { at, end }
      },
      gone: call.gone,
      note: ({ kind }) => {
        exchange.fault = kind
      },
    }
    const enter = (work: () => Promise<HandlerReply<Endpoint> | Refusal>) =>
      idempotencyKey === undefined ? work() : idempotentCalls.run(call.caller.applicationId, idempotencyKey, work)
    return deps.faults.run(endpoint.id, enter, () => handle(input, call), faulted)
  }
}

/** Counts a failed credential against the limit of the client's address, to prevent guessing. */
function countFailedCredential(deps: Deps, exchange: ApiCall, refusal: Refusal): Refusal {
  // A page without a session sent no credential.
  if (failures[refusal.code].status !== 401 || refusal.code === 'PAGE_SESSION_REQUIRED') return refusal
  const verdict = deps.limits.take('auth_failures', deps.addresses.limitSubject(exchange))
  return verdict === null || verdict.allowed ? refusal : rateLimited(verdict)
}

/** Counts the call against the rate limit of its endpoint; adds the RateLimit headers to responses for tokens. */
function takeRateLimit(
  { limits }: Deps,
  { limit }: Endpoint,
  { kind, botId, applicationId, accountId }: Caller,
  { replyHeaders }: ApiCall,
): Refusal<'RATE_LIMITED'> | null {
  if (limit === undefined) return null
  const verdict = limits.take(limit, botId || applicationId || accountId)
  if (verdict === null) return null
  const { allowed, policy, remaining, resetSeconds } = verdict
  if (kind === 'token' || kind === 'bot') {
    replyHeaders['ratelimit-policy'] = `"${limit}";q=${policy.calls};w=${policy.seconds}`
    replyHeaders.ratelimit = `"${limit}";r=${remaining};t=${resetSeconds}`
  }
  return allowed ? null : rateLimited(verdict)
}

/** Converts query values, which are strings, to integers and booleans where the schema requires them. */
function readQuery(query: Readonly<Record<string, unknown>>, schema: ObjectSchema): Record<string, unknown> {
  const members = membersOf(schema)
  const read = Object.entries(query).map(([name, value]) => {
    const { type } = (members[name] ?? {}) as { type?: string }
    if (type === 'integer' && typeof value === 'string' && /^\d{1,15}$/.test(value)) return [name, Number(value)]
    if (type === 'boolean' && (value === 'true' || value === 'false')) return [name, value === 'true']
    return [name, value]
  })
  // Assignment would lose a member named __proto__ before validation can refuse it.
  return Object.fromEntries(read)
}

const conflict = { code: 'conflict', message: 'differs between the query and the body' }

/** Reports a member with different values in query and body. */
function conflictOf(query: Record<string, unknown>, body: unknown): ValidationIssue[] | null {
  const inBody = (body ?? {}) as Record<string, unknown>
  const name = Object.keys(query).find((it) => Object.hasOwn(inBody, it) && inBody[it] !== query[it])
  return name === undefined ? null : [{ pointer: `/${name}`, ...conflict }]
}

/** Reads the header Idempotency-Key; undefined if the endpoint ignores the header, or the call omits it. */
function readIdempotencyKey(
  exchange: ApiCall,
  { idempotent, method }: Endpoint,
  body: unknown,
): IdempotencyKey | undefined | Refusal<'IDEMPOTENCY_KEY_REQUIRED' | 'IDEMPOTENCY_KEY_INVALID'> {
  if (idempotent === undefined) return undefined
  const values = headerValues(exchange, 'idempotency-key')
  if (values.length === 0) return idempotent === true ? refuse('IDEMPOTENCY_KEY_REQUIRED') : undefined
  const value = values.length === 1 ? parseIdempotencyKey(values[0] as string) : null
  if (value === null) return refuse('IDEMPOTENCY_KEY_INVALID')
  const path = exchange.target.split('?', 1)[0] as string
  return { value, fingerprint: fingerprint(method, path, body) }
}

function callOf(exchange: ApiCall, idempotencyKey: IdempotencyKey | undefined, callAs: CallAs): Call<Endpoint> {
  const { caller, id: requestId } = exchange
  return {
    caller,
    facts: { applicationId: caller?.applicationId, calledBy: caller?.calledBy, requestId, idempotencyKey },
    hidesSecrets: exchange.method === 'HEAD' || exchange.actingFor !== null,
    isInner: exchange.inner !== null && exchange.actingFor === null,
    gone: () => goneSignal(exchange.carrier),
    callAs: (as, request) => callAs(exchange.carrier, as, request),
  } as Call<Endpoint>
}

/**
 * Returns a signal that aborts when the connection closes before the response, or when the client ends its side. A
 * client that disconnected and a client that only finished sending look the same; an early response suits both.
 */
function goneSignal({ request: { socket }, response }: Carrier): AbortSignal {
  const controller = new AbortController()
  const leave = () => controller.abort(new StoreUnavailable('the client has gone'))
  if (response.destroyed || socket.destroyed || socket.readableEnded) leave()
  // A response that waits for earlier ones of its connection gets no event when the connection closes.
  socket.once('end', leave).once('close', leave)
  response.once('close', () => {
    socket.removeListener('end', leave).removeListener('close', leave)
    leave()
  })
  return controller.signal
}

function replyOf(
  exchange: ApiCall,
  endpoint: Endpoint,
  result: Extract<HandlerReply<Endpoint>, { ok: true }>,
  write: EndpointCodec['write'],
  clock: Clock,
): Result {
  const { data } = result
  // Clients count from this time to those of the records; the header that Node adds has the true time.
  if (clock instanceof TestClock) exchange.replyHeaders.date = new Date(clock.now()).toUTCString()
  if (endpoint.streams) return streamReply(data as Readable)
  if (result.replayed) {
    exchange.replayed = true
    exchange.replyHeaders['idempotent-replayed'] = 'true'
  }
  const headers = { 'content-type': 'application/json; charset=utf-8' }
  return { status: result.status ?? endpoint.status, headers, body: write(data, exchange.id) }
}
