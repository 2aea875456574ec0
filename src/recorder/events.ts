import { type CredentialKind, type Endpoint, membersOf } from '../contract/endpoint.js'
import type { Unique } from '../contract/fields.js'
import { endpointOf, endpoints } from '../contract/index.js'
import type { ActivityLine, CapturedExchange, RequestLogEntry, StateChange } from '../contract/platform/activity.js'
import { CAPTURED_BYTES_MAX } from '../contract/platform/captured.js'
import type { FaultKind } from '../contract/platform/fault-kinds.js'
import { isOpenEndpoint } from '../contract/secure.js'
import { parseJson } from '../values/json.js'
import { readTarget } from '../values/path-part.js'

export type Members = Readonly<Record<string, unknown>>
/** Divides a loop into pieces, between which the process can do other work. */
export type InPieces = <T>(items: Iterable<T>) => Iterable<T> | AsyncIterable<T>

/** A call, as the activity of a server shows it. */
export interface RecordedCall {
  readonly kind: 'call'
  readonly at: string
  /** Id of the request. */
  readonly id: string
  /** Contract id, or method and path of a call outside the contract. */
  readonly target: string
  readonly method: string
  readonly caller: Endpoint['caller']
  /** Members of path, query and body. */
  readonly input: Members
  /** Name of the credential, such as `[hidden 3]`; null without one. */
  readonly credential: string | null
  readonly key: string | undefined
  /** Null if the program got no response. */
  readonly status: number | null
  readonly code: string | null
  readonly replayed: boolean
  /** Kind of the planted fault that changed the result of the call. */
  readonly fault: FaultKind | null
  readonly applicationId: string | null
  /** Account whose JWT the call has. */
  readonly accountId: string | null
  /** Bot whose token the call has. */
  readonly botId: string | null
  readonly voucherId: string | null
  /** Data of a success, details of a refusal. */
  readonly data: unknown
}

interface RecordedAttempt {
  readonly kind: 'attempt'
  /** Id of the delivery. */
  readonly id: string
  readonly at: string
  readonly botId: string | null
  readonly type: string | null
  /** Response of the receiver; null without one. */
  readonly status: number | 'timeout' | null
  readonly isReplay: boolean
  readonly body: unknown
}

/** A line from which no step can be made, or the beginning of a new state. */
interface Note {
  readonly kind: 'note' | 'reset'
  readonly text: string
}

/** A line that was not chosen: only position and time matter. */
interface Other {
  readonly kind: 'other'
  readonly id: string
  readonly at: string
}

export type RecordedEvent = RecordedCall | RecordedAttempt | Note | Other

export const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Matches an id of the platform; a seed may choose the part after the kind. */
export const ID = /^(?:app|bot|chat|dlv|flt|rdm|tok|tpl|vch)_[\w-]{1,60}$/
/** Matches the name of a secret. */
export const NAME = /^\[hidden (?:\d+|of [\w.-]+)\]$/

/** Name of a secret that no recorded call has: token of an application, code of a voucher, JWT of an account. */
export const nameOf = (id: string) => `[hidden of ${id}]`

/**
 * Reads lines of the activity.
 * @param ids requests and deliveries to record; default: all
 */
export async function eventsOf(
  lines: Iterable<ActivityLine>,
  inPieces: InPieces,
  ids?: ReadonlySet<string>,
): Promise<RecordedEvent[]> {
  const seen = new Set<string>()
  const isChosen = (id: string) => {
    seen.add(id)
    return ids?.has(id) ?? true
  }
  const eventOf = (line: ActivityLine): RecordedEvent | readonly [] => {
    if (line.kind === 'omitted')
      return ids === undefined ? note(`The server left out ${line.count} lines of a burst.`) : []
    if (line.kind === 'live') return []
    if (line.kind === 'state') return stateOf(line)
    const [id, at] =
      line.kind === 'delivery'
        ? [line.delivery.delivery_id, line.delivery.at]
        : [line.request.request_id, line.request.time]
    if (!isChosen(id)) return { kind: 'other', id, at }
    return line.kind === 'delivery' ? attemptOf(line) : callOf(line)
  }
  const events: RecordedEvent[] = []
  for await (const line of inPieces(lines)) events.push(...[eventOf(line)].flat())
  const gone = [...(ids ?? [])].filter((it) => !seen.has(it)).length
  return gone === 0 ? events : [...events, note(`The server no longer has ${gone} of the chosen lines.`)]
}

/** Changes with which a new state begins. */
const beginnings: Readonly<Partial<Record<StateChange, string>>> = {
  reset: 'The state was reset',
  restore: 'A snapshot was restored',
}

function stateOf({ what, at }: Extract<ActivityLine, { kind: 'state' }>): RecordedEvent | readonly [] {
  const text = beginnings[what]
  return text === undefined ? [] : { kind: 'reset', text: `${text} at ${at}.` }
}

const note = (text: string): RecordedEvent => ({ kind: 'note', text })

/** Members that the platform accepts once, by name. */
export const uniqueMembers: Readonly<Record<string, Unique>> = Object.fromEntries(
  endpoints
    .flatMap(({ body }) => Object.entries(membersOf(body)))
    .flatMap(([name, schema]) => ('x-unique' in schema ? [[name, schema['x-unique'] as Unique]] : [])),
)

function callOf({ request, exchange }: Extract<ActivityLine, { kind: 'request' }>): RecordedEvent | readonly [] {
  const { endpoint, method, status, code, time, fault: planted } = request
  // A call that waited has the result of a call without a fault.
  const fault = planted === undefined || planted === 'delay' || planted === 'hold' ? null : planted
  const route = endpointOf(endpoint)
  // A step cannot open encrypted sessions.
  if (route?.unrecorded || isOpenEndpoint(endpoint)) return []
  const label = `${endpoint ?? method} at ${time} (${code ?? status})`
  if (exchange === null) return note(`${label}: the server has no more than its log line.`)
  const sent = jsonOf(exchange.request.body)
  const path = exchange.request.url.replace(/^[^/]+\/\/[^/?]*/, '')
  const reason = reasonAgainst(exchange.request, sent, path, route, endpoint)
  if (reason !== undefined) return note(`${label}: ${reason}.`)
  const header = (name: string) => exchange.request.headers.find(([it]) => it.toLowerCase() === name)?.[1]
  const input = { ...(route && pathMembers(route, path)), ...(isMembers(sent) ? sent : {}) }
  if (sizeOf(input) > VALUES_MAX) return note(`${label}: it has more than ${VALUES_MAX.toLocaleString('en')} values.`)
  return {
    kind: 'call',
    at: time,
    id: request.request_id,
    target: route?.id ?? `${method} ${path.replaceAll('${', () => '$${')}`,
    method,
    caller: route?.caller ?? 'token',
    input,
    credential: header('authorization') ?? (request.by_operator ? nameOf(actedFor(request, route?.caller)) : null),
    // The quoted form is the same key.
    key: header('idempotency-key')?.replace(/^"(.*)"$/, '$1'),
    code,
    replayed: request.replayed,
    fault,
    applicationId: request.application_id,
    accountId: request.account_id ?? null,
    botId: request.bot_id ?? null,
    voucherId: request.voucher_id,
    ...received(exchange, fault),
  }
}

/** Id of the caller in whose place the operator made a call. */
const actedFor = (request: RequestLogEntry, caller: CredentialKind | undefined) =>
  String({ bot: request.bot_id, jwt: request.account_id }[String(caller)] ?? request.application_id)

/** Maximum number of values in the input of a step, whose lines are written in one piece. */
const VALUES_MAX = 1_000

const sizeOf = (value: unknown): number =>
  typeof value !== 'object' || value === null
    ? 1
    : Object.values(value).reduce((sum: number, it) => sum + sizeOf(it), 1)

/** What the program got: nothing if a fault took the response away. */
function received({ response }: CapturedExchange, fault: FaultKind | null): Pick<RecordedCall, 'status' | 'data'> {
  if (response === null || (fault !== null && losing.includes(fault))) return { status: null, data: undefined }
  const body = jsonOf(response.body)
  return { status: response.status, data: isMembers(body) ? (body.data ?? body.details) : undefined }
}

/** Kinds of faults after which a program has no response. */
const losing: readonly FaultKind[] = [
  'drop_response',
  'refuse_connection',
  'cut_connection',
  'cut_body',
  'silence',
  'hang',
]

/** Methods of steps. */
const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** Says why no step can hold a request; undefined if one can. */
function reasonAgainst(
  { method, body_bytes: bytes }: CapturedExchange['request'],
  sent: unknown,
  path: string,
  route: Endpoint | undefined,
  endpoint: string | null,
): string | undefined {
  if (endpoint === 'platform.seedStore') return 'a seed is secret; records that calls use are created'
  if (method !== (route?.method ?? method) || !methods.includes(method)) return `a step cannot send ${method}`
  if (bytes > CAPTURED_BYTES_MAX) return 'its body was cut off'
  if (bytes > 0 && !isMembers(sent)) return 'its body was not a readable record'
  if (bytes > 0 && method === 'GET') return 'a step cannot send a GET with a body'
  if (route !== undefined) return undefined
  return path.includes('[hidden') || !/^\/(?!\/)[!-~]*$/.test(path) || path.includes('#')
    ? 'a step cannot hold its path'
    : undefined
}

function pathMembers({ path, query }: Endpoint, url: string): Record<string, unknown> {
  const sent = readTarget(path, url)
  const inQuery = [...sent.query].map(([name, value]): [string, unknown] => {
    const { type } = (membersOf(query)[name] ?? {}) as { type?: unknown }
    return [name, type === 'integer' && /^\d+$/.test(value) ? Number(value) : value]
  })
  return { ...sent.params, ...Object.fromEntries(inQuery) }
}

function attemptOf({ delivery, exchange }: Extract<ActivityLine, { kind: 'delivery' }>): RecordedEvent {
  const { delivery_id, at, bot_id, update_type, status, error, replay, attempt, manual, fault } = delivery
  const isSecond = attempt === null && !manual && !replay
  const isSpoiled = fault !== undefined && fault !== 'late' && fault !== 'duplicate' && (status ?? 500) >= 300
  if (isSecond || isSpoiled)
    return note(`A delivery of ${update_type} at ${at}: a planted fault (${fault}) affected it, and is left out.`)
  const isTimeout = status === null && error !== null && /TIMEOUT/i.test(error.code)
  return {
    kind: 'attempt',
    id: delivery_id,
    at,
    botId: bot_id,
    type: update_type,
    status: isTimeout ? 'timeout' : status,
    isReplay: replay,
    body: jsonOf(exchange?.request.body ?? null),
  }
}

const jsonOf = (base64: string | null): unknown =>
  base64 === null ? undefined : parseJson(Buffer.from(base64, 'base64').toString())

/** Calls a function for each text in a JSON value, with the names and indexes that lead to it. */
export function eachText(
  value: unknown,
  visit: (text: string, path: readonly (string | number)[]) => void,
  path: readonly (string | number)[] = [],
): void {
  if (typeof value === 'string') visit(value, path)
  else if (Array.isArray(value)) for (const [at, it] of value.entries()) eachText(it, visit, [...path, at])
  else if (isMembers(value)) for (const [name, it] of Object.entries(value)) eachText(it, visit, [...path, name])
}

/** Kinds of records that only their creation returns as new: a list may hold those that existed before. */
const created = /^(?:app|bot|chat|tpl|vch)_/

/** Calls a function for each id and each secret that a response is the first to bring, with the path to it in the data. */
export function eachNew(
  { method, input, status, data, replayed }: RecordedCall,
  visit: (text: string, path: readonly (string | number)[]) => void,
): void {
  if ((status ?? 0) >= 300) return
  const sent = new Set<string>()
  eachText(input, (it) => sent.add(it))
  eachText(data, (text, path) => {
    if (sent.has(text) || !(ID.test(text) || NAME.test(text))) return
    const isNew = method !== 'GET' && !replayed && path.length === 1 && path[0] === 'id'
    if (isNew || !created.test(text)) visit(text, path)
  })
}

/** Accounts that act in calls, if each has to log in by a step; empty if all can be the scenario's account. */
export function accountsOf(events: readonly RecordedEvent[]): string[] {
  const accounts = new Set<string>()
  let needsLogin = false
  for (const it of events) {
    if (it.kind !== 'call') continue
    if (it.accountId !== null) accounts.add(it.accountId)
    if (it.target === 'platform.issueAccountToken') accounts.add(String(it.input.accountId))
    // A JWT ends after a day.
    const movesClock = it.target === 'platform.advanceClock' || it.target === 'platform.setClock'
    needsLogin ||= movesClock || (it.code === 'TOKEN_EXPIRED' && it.caller === 'jwt')
  }
  return accounts.size > 1 || needsLogin ? [...accounts] : []
}
