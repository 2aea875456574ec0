import { type Endpoint, membersOf } from '../../../../contract/endpoint.js'
import type { ActivityLine, Exchange } from '../../../../contract/platform/activity.js'
import { CAPTURED_BYTES_MAX } from '../../../../contract/platform/captured.js'

// A page in a browser could use this file and those that it needs.

export type Members = Readonly<Record<string, unknown>>
export type Route = Pick<Endpoint, 'id' | 'method' | 'path' | 'caller' | 'query'>

/** A call, as the activity of a server shows it. */
export interface RecordedCall {
  readonly kind: 'call'
  readonly at: string
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
  readonly applicationId: string | null
  readonly voucherId: string | null
  readonly data: unknown
}

interface RecordedAttempt {
  readonly kind: 'attempt'
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

export type RecordedEvent = RecordedCall | RecordedAttempt | Note

export const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Matches an id of the platform; a seed may choose the part after the kind. */
export const ID = /^(?:app|bot|chat|dlv|flt|rdm|tok|tpl|vch)_[\w-]{1,60}$/
/** Matches the name of a secret. */
export const NAME = /^\[hidden \d+\]$/

/** Reads lines of the activity. @param routeOf finds an endpoint by its contract id */
export function eventsOf(lines: readonly ActivityLine[], routeOf: (id: string) => Route | undefined): RecordedEvent[] {
  return lines.flatMap((line): RecordedEvent | readonly [] => {
    if (line.kind === 'omitted') return note(`The server left out ${line.count} lines of a burst.`)
    if (line.kind === 'state')
      return line.what === 'reset' ? { kind: 'reset', text: `The state was replaced at ${line.at}.` } : []
    if (line.kind === 'delivery') return attemptOf(line)
    return callOf(line, routeOf)
  })
}

const note = (text: string): RecordedEvent => ({ kind: 'note', text })

/** Calls that open encrypted sessions or read for an operator, and those whose effect has a line of its own. */
const skipped =
  /^secure\.|^platform\.(?:findVoucher|showCredentials|forecast|returnWebhook|reset|restoreSnapshot|openPage)$/

function callOf(
  { request, exchange }: Extract<ActivityLine, { kind: 'request' }>,
  routeOf: (id: string) => Route | undefined,
): RecordedEvent | readonly [] {
  const { endpoint, method, status, code, time } = request
  if (endpoint !== null && skipped.test(endpoint)) return []
  const label = `${endpoint ?? method} at ${time} (${code ?? status})`
  if (exchange === null) return note(`${label}: the server no longer had its request.`)
  const sent = jsonOf(exchange.request.body)
  const route = endpoint === null ? undefined : routeOf(endpoint)
  const path = exchange.request.url.replace(/^[^/]+\/\/[^/?]*/, '')
  const reason = reasonAgainst(exchange.request, sent, endpoint, route === undefined && path.includes('[hidden'))
  if (reason !== undefined) return note(`${label}: ${reason}.`)
  const header = (name: string) => exchange.request.headers.find(([it]) => it.toLowerCase() === name)?.[1]
  const received = jsonOf(exchange.response?.body ?? null)
  return {
    kind: 'call',
    at: time,
    target: route?.id ?? `${method} ${path.replaceAll('${', () => '$${')}`,
    method,
    caller: route?.caller ?? 'token',
    input: { ...(route === undefined ? {} : pathMembers(route, path)), ...(isMembers(sent) ? sent : {}) },
    credential: header('authorization') ?? (request.by_operator ? `application ${request.application_id}` : null),
    key: header('idempotency-key'),
    status: exchange.response?.status ?? null,
    code,
    replayed: request.replayed,
    applicationId: request.application_id,
    voucherId: request.voucher_id,
    data: isMembers(received) ? received.data : undefined,
  }
}

/** Says why a request cannot be read; undefined if it can. */
function reasonAgainst(
  { body_bytes: bytes }: Exchange['request'],
  sent: unknown,
  endpoint: string | null,
  hasHiddenPath: boolean,
): string | undefined {
  if (endpoint === 'platform.seedStore') return 'a seed is secret; records that calls use are created'
  if (bytes > CAPTURED_BYTES_MAX) return 'its body was cut off'
  if (bytes > 0 && !isMembers(sent)) return 'its body was not a readable record'
  return hasHiddenPath ? 'its path was not known' : undefined
}

function pathMembers({ path, query }: Route, url: string): Record<string, unknown> {
  const [sentPath = '', search] = url.split('?', 2)
  const segments = sentPath.split('/')
  const inPath = path.split('/').flatMap((part, at): [string, unknown][] => {
    const segment = segments[at] ?? ''
    if (!part.startsWith(':')) return []
    return [[part.slice(1), NAME.test(segment) ? segment : decodeURIComponent(segment)]]
  })
  const inQuery = [...new URLSearchParams(search)].map(([name, value]): [string, unknown] => {
    const { type } = (membersOf(query)[name] ?? {}) as { type?: unknown }
    return [name, type === 'integer' && /^\d+$/.test(value) ? Number(value) : value]
  })
  return Object.fromEntries([...inPath, ...inQuery])
}

function attemptOf({ delivery, exchange }: Extract<ActivityLine, { kind: 'delivery' }>): RecordedEvent {
  const { at, bot_id, update_type, status, error, replay } = delivery
  const isTimeout = status === null && error !== null && /TIMEOUT/i.test(error.code)
  return {
    kind: 'attempt',
    at,
    botId: bot_id,
    type: update_type,
    status: isTimeout ? 'timeout' : status,
    isReplay: replay,
    body: jsonOf(exchange?.request.body ?? null),
  }
}

function jsonOf(base64: Exchange['request']['body']): unknown {
  if (base64 === null) return undefined
  try {
    const bytes = Uint8Array.from(atob(base64), (it) => it.charCodeAt(0))
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return undefined
  }
}

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

/** Calls a function for each id and each secret that the response of a call brings, with the path to it in the data. */
export function eachNew(
  { method, input, status, data }: RecordedCall,
  visit: (text: string, path: readonly (string | number)[]) => void,
): void {
  if ((status ?? 0) >= 300) return
  const sent = new Set<string>()
  eachText(input, (it) => sent.add(it))
  eachText(data, (text, path) => {
    if (sent.has(text) || !(ID.test(text) || NAME.test(text) || text.startsWith('application app_'))) return
    if (!created.test(text) || (method !== 'GET' && path.length === 1 && path[0] === 'id')) visit(text, path)
  })
}
