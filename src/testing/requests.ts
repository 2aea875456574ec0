import { contract } from '../contract/index.js'
import type { Exchange } from '../contract/platform/activity.js'
import type { Activity, RequestItem } from '../server/observe/activity.js'
import { exchangeOf } from '../server/observe/exchange.js'
import { readTarget } from '../values/path-part.js'
import { readInteger, requireMembers, TestingError, wrongType } from './arguments.js'
import { matches, mismatch } from './match.js'
import { WITHIN_MS, WITHIN_MS_MAX } from './receiver.js'
import type { ReceivedCall, ReceivedCalls } from './types.js'
import { Waiting } from './waiting.js'

/** The calls that a server received, converted from its activity when a test reads them. */
export class Requests {
  readonly #activity: Activity
  readonly #calls = new WeakMap<RequestItem, ReceivedCall>()
  readonly #returned = new WeakSet<ReceivedCall>()
  readonly #waiting = new Waiting()

  constructor(activity: Activity) {
    this.#activity = activity
    activity.onRequest = () => this.#waiting.look()
  }

  /** @param requireOpen throws when the server is closed */
  list(requireOpen: () => void): ReceivedCalls {
    requireOpen()
    const wait: ReceivedCalls['wait'] = async (match, options = {}) => {
      requireOpen()
      return this.#wait(match, options)
    }
    // Not enumerable: assertions compare the list with a plain one.
    return Object.defineProperty(this.#list(), 'wait', { value: wait }) as ReceivedCall[] & ReceivedCalls
  }

  close(reason: Error): void {
    this.#waiting.fail(reason)
  }

  #list(): ReceivedCall[] {
    return this.#activity.requests().map((it) => {
      const call = this.#calls.get(it) ?? callOf(it)
      this.#calls.set(it, call)
      return call
    })
  }

  #wait(
    match: Parameters<ReceivedCalls['wait']>[0],
    options: { readonly within?: number | undefined },
  ): Promise<ReceivedCall> {
    if (typeof match !== 'function' && (typeof match !== 'object' || match === null))
      throw wrongType('match', 'a function or an object such as { endpoint: "vouchers.redeem" }', match)
    requireMembers('options', options, ['within'])
    const within = readInteger('options.within', options.within, 0, WITHIN_MS_MAX) ?? WITHIN_MS
    const rest = () => this.#list().filter((it) => !this.#returned.has(it))
    const take = () => {
      const found = rest().find((it) => matches(it, match))
      if (found !== undefined) this.#returned.add(found)
      return found
    }
    const overdue = () => new TestingError('CALL_NOT_RECEIVED', `Within ${within} ms: ${mismatch(rest(), match)}`)
    return this.#waiting.wait(within, take, overdue)
  }
}

const paths = new Map(Object.values(contract).flatMap((group) => Object.values(group).map((it) => [it.id, it.path])))

function callOf({ entry, captured }: RequestItem): ReceivedCall {
  const exchange = captured && exchangeOf(captured)
  const key = exchange?.request.headers.find(([name]) => name.toLowerCase() === 'idempotency-key')
  return {
    endpoint: entry.endpoint,
    input: exchange && inputOf(exchange, paths.get(entry.endpoint ?? '')),
    idempotencyKey: key?.[1] ?? null,
    time: new Date(entry.time),
    result: resultOf(exchange),
    status: entry.status,
    code: entry.code,
    replayed: entry.replayed,
    requestId: entry.request_id,
  }
}

type Members = Readonly<Record<string, unknown>>

function inputOf({ request }: Exchange, path = ''): Members | null {
  const body = request.body_bytes === 0 ? {} : jsonOf(request.body)
  if (body === undefined) return null
  const { params, query } = readTarget(path, request.url)
  return { ...params, ...Object.fromEntries(query), ...body }
}

function resultOf(exchange: Exchange | null): ReceivedCall['result'] {
  const body = exchange?.response ? jsonOf(exchange.response.body) : undefined
  if (body === undefined) return null
  if (body.success === false) {
    const { code, message, details = {} } = body as { code: string; message: string; details?: Members }
    return { ok: false, code, message, details }
  }
  return { ok: true, data: body.success === true ? body.data : body }
}

/** Parses a masked body; undefined for one that was hidden or truncated. */
function jsonOf(body: string | null): Members | undefined {
  try {
    return body === null ? undefined : JSON.parse(Buffer.from(body, 'base64').toString())
  } catch {
    return undefined
  }
}
