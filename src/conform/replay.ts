import { randomInt } from 'node:crypto'
import type { Transport } from '../client/transport.js'
import type { CredentialKind } from '../contract/endpoint.js'
import { DAY_MS } from '../contract/values/duration.js'
import { compareResponses, type ResponseDifference } from './compare-responses.js'
import type { Need } from './group.js'
import {
  fillPlaceholders,
  formOf,
  type Placeholder,
  placeholdersOf,
  secretOf,
  valueAt,
  visitScalars,
} from './placeholders.js'
import {
  type RecordedExchange,
  type RecordedRequest,
  type Recording,
  type ReplayableExchange,
  thingNames,
} from './recording.js'
import { NotApplicable, NotReachable } from './result.js'
import { missing } from './run-resources.js'
import { credentialNames } from './secrets.js'
import { Wire, type WireRequest, type WireResponse } from './wire.js'

/** Result of one exchange. */
export interface ReplayedExchange {
  readonly exchange: number
  readonly probe: string
  /** Method and path of the request as recorded, null if the recording does not hold them. */
  readonly request: string | null
  readonly result: 'same' | 'differs' | 'not_replayable'
  readonly differences: readonly ResponseDifference[]
  /** Why the exchange cannot be played. */
  readonly reason: string | null
}

export interface ReplayOptions {
  readonly recording: Recording
  readonly baseUrl: string
  readonly plain: Transport
  readonly encrypted?: Transport | undefined
  readonly credentials: Readonly<Partial<Record<CredentialKind, string>>>
  readonly template?: string | undefined
  readonly botId?: string | undefined
  readonly chat?: string | undefined
  /** Maximum calls a second. */
  readonly rate: number
  /** Longest wait for the platform, in ms. */
  readonly maxWaitMs: number
  /** Ms for each call; default 30 s. */
  readonly timeoutMs?: number | undefined
  readonly signal: AbortSignal
  onResult(result: ReplayedExchange): void
  /** Resolves after some ms, or when the replay is interrupted. */
  pause(ms: number): Promise<void>
  /** Ms of a clock that only moves forward. */
  now(): number
  /** Ms since the epoch. */
  readonly startedAt: number
}

/**
 * Plays a recording against a platform and grades each response; ends early if it is interrupted.
 * @throws NotReachable if the platform does not respond
 */
export async function replayRecording(options: ReplayOptions): Promise<void> {
  const { recording, signal, onResult } = options
  const replay = new RecordingReplay(options)
  for (const [index, exchange] of recording.exchanges.entries()) {
    if (signal.aborted) return
    const outcome = await replay.play(exchange, recording.exchanges[index + 1])
    // A pause that was interrupted has no result.
    if (signal.aborted) return
    const { method, path } = exchange.request ?? {}
    onResult({
      exchange: exchange.exchange,
      probe: exchange.probe,
      request: method === undefined ? null : `${method} ${path}`,
      ...outcome,
    })
  }
}

type Outcome = Pick<ReplayedExchange, 'result' | 'differences' | 'reason'>

const notPlayable = (reason: string): Outcome => ({ result: 'not_replayable', differences: [], reason })

/** Exchanges in a row without a response, after which the platform counts as not reachable. */
const SILENT_MAX = 3

/** Ms that a replay may be ahead of its recording. */
const AHEAD_MS = 500

/** Ms between two calls of a poll of which the recording has one response. */
const POLL_MS = 250

/** Names of placeholders for what the user offers, with what is missing without it. */
const offers: Readonly<Record<string, Need>> = {
  [credentialNames.token]: 'token',
  [credentialNames.bot]: 'bot',
  [credentialNames.jwt]: 'jwt',
  [thingNames.template]: 'template',
  [thingNames.botId]: 'bot id',
  [thingNames.chat]: 'chat',
}

/** Ms since the epoch at which a probe began, in the recording and in the replay. */
type ProbeTimes = readonly [recordedAt: number, startedAt: number]

class RecordingReplay {
  readonly #options: ReplayOptions
  readonly #wire: Wire
  readonly #values = new Map<string, string>()
  /** Parsed bodies of the replay's own responses, by number of the exchange. */
  readonly #responses = new Map<number, unknown>()
  /** Exchanges that the next one repeats: polls, and refusals for a time. */
  readonly #repeated: number[] = []
  /** Exchanges in a row without a response. */
  #silent = 0
  readonly #times = new Map<string, ProbeTimes>()
  readonly #startedAt: number
  /** Why the rest of a probe cannot be played. */
  readonly #blocked = new Map<string, string>()

  constructor(options: ReplayOptions) {
    this.#options = options
    const { recording, credentials } = options
    this.#wire = new Wire(options)
    this.#startedAt = options.now()
    for (const kind of ['token', 'bot', 'jwt'] as const) this.#bind(credentialNames[kind], credentials[kind])
    for (const thing of ['template', 'botId', 'chat'] as const) this.#bind(thingNames[thing], options[thing])
    // As long as the recorded one: probes send names of the greatest length.
    this.#bind('RUN', secretOf(formOf(recording.header.run), randomInt))
  }

  async play(exchange: RecordedExchange, next: RecordedExchange | undefined): Promise<Outcome> {
    const { exchange: number, probe } = exchange
    if (isRepeated(exchange, next)) {
      this.#repeated.push(number)
      return notPlayable(`Exchange ${next?.exchange} repeats it.`)
    }
    const blocked = this.#blocked.get(probe)
    // A call that is not compared is sent all the same: later probes may need what it undoes.
    const whyNot = notCompared(exchange)
    const isPoll = this.#repeated.length > 0 && blocked === undefined && whyNot === undefined
    const outcome = await this.#play(exchange, isPoll).catch((error) => this.#unplayed(error))
    this.#repeated.length = 0
    if (blocked !== undefined) return notPlayable(blocked)
    if (whyNot !== undefined && outcome.result !== 'not_replayable') return notPlayable(whyNot)
    if (isIndependent(probe)) return outcome
    if (outcome.result === 'not_replayable') {
      this.#blocked.set(probe, 'It follows a call of its probe that is not replayable.')
    } else if (exchange.request?.method !== 'GET' && outcome.differences.some((it) => it.at === 'status')) {
      this.#blocked.set(probe, 'It follows a call of its probe whose status differs.')
    }
    return outcome
  }

  /** @throws the error if it is no reason, or if too many exchanges in a row had no response */
  #unplayed(error: unknown): Outcome {
    if (error instanceof NotApplicable) return notPlayable(error.message)
    if (!(error instanceof NotReachable)) throw error
    this.#silent += 1
    if (this.#options.signal.aborted) return notPlayable(error.message)
    if (this.#silent >= SILENT_MAX || this.#responses.size === 0) throw error
    return notPlayable(error.message)
  }

  async #play(exchange: RecordedExchange, isPoll: boolean): Promise<Outcome> {
    if ('not_replayable' in exchange) return notPlayable(exchange.not_replayable)
    const { at_ms, pause_ms = 0, request: recorded } = exchange
    const { maxWaitMs, pause, now, signal } = this.#options
    if (pause_ms > maxWaitMs) return notPlayable(`Needs --max-wait ${Math.ceil(pause_ms / 1000)}s.`)
    const request = this.#request(recorded, this.#timesOf(exchange))
    if (typeof request === 'string') return notPlayable(request)
    // A probe may rely on the time since an earlier one, such as the end of a voucher.
    const aheadMs = at_ms - (now() - this.#startedAt)
    await pause(Math.min(Math.max(pause_ms, aheadMs > AHEAD_MS ? aheadMs : 0), maxWaitMs))
    this.#wire.probe = exchange.probe
    const kind = kindOf(recorded)
    const deadline = now() + maxWaitMs
    for (;;) {
      const response = await this.#wire.send(request)
      this.#silent = 0
      const differences = compareResponses(exchange.response, response, kind)
      if (differences.length === 0 || !isPoll || now() >= deadline || signal.aborted) {
        this.#take(exchange, response)
        return { result: differences.length === 0 ? 'same' : 'differs', differences, reason: null }
      }
      await pause(Math.max(pause_ms, POLL_MS))
    }
  }

  /** When the probe began. Its requests share these times: the same body must be sent again with an idempotency key. */
  #timesOf({ probe, at_ms }: ReplayableExchange): ProbeTimes {
    const { recording, now, startedAt } = this.#options
    const recordedAt = Date.parse(recording.header.recorded_at) + at_ms
    const times: ProbeTimes = this.#times.get(probe) ?? [recordedAt, startedAt + now() - this.#startedAt]
    this.#times.set(probe, times)
    return times
  }

  /** Keeps what later requests may use of a response. */
  #take({ exchange, response }: ReplayableExchange, { json }: WireResponse): void {
    for (const number of [...this.#repeated, exchange]) this.#responses.set(number, json)
    visitScalars(response.body, (text, pointer) => {
      const name = /^\$\{([A-Z][A-Z_0-9]*)\}$/.exec(String(text))?.[1]
      const value = valueAt(json, pointer)
      if (name !== undefined && !this.#values.has(name) && typeof value === 'string') this.#values.set(name, value)
    })
  }

  #bind(name: string, value: string | undefined): void {
    if (value !== undefined) this.#values.set(name, value)
  }

  /** The request with the values of this replay; a text says why it has none. */
  #request({ method, path, headers, body, plain }: RecordedRequest, times: ProbeTimes): WireRequest | string {
    const parts = [path, ...Object.values(headers).flat(), body ?? '']
    for (const it of parts.flatMap(placeholdersOf)) {
      const reason = this.#whyUnbound(it)
      if (reason !== undefined) return reason
    }
    const fill = (text: string) => fillPlaceholders(text, (it) => this.#value(it) ?? '')
    return {
      method,
      path: fillPlaceholders(path, (it) => encodeURIComponent(this.#value(it) ?? '')),
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, it]) => [name, typeof it === 'string' ? fill(it) : it.map(fill)]),
      ),
      ...(body === undefined ? {} : { body: shiftTimes(fill(body), ...times) }),
      ...(plain ? { plain } : {}),
    }
  }

  #whyUnbound(it: Placeholder): string | undefined {
    if (this.#value(it) !== undefined) return undefined
    if (it.name === undefined && !this.#responses.has(it.exchange)) {
      return `It sends what exchange ${it.exchange} returned, which was not replayed.`
    }
    if (it.name === undefined) return `Exchange ${it.exchange} returned nothing at ${it.pointer}, which it sends.`
    const need = offers[it.name]
    return need === undefined
      ? `It sends ${it.text}, which no response of this replay returned.`
      : `Needs ${missing[need]}.`
  }

  #value({ name, form, exchange, pointer, next }: Placeholder): string | undefined {
    if (name === undefined) {
      const value = valueAt(this.#responses.get(exchange), pointer)
      if (typeof value === 'number') return String(value + (next ? 1 : 0))
      return typeof value === 'string' && !next ? value : undefined
    }
    const known = this.#values.get(name)
    if (known !== undefined || form === undefined) return known
    const secret = secretOf(form, randomInt)
    this.#values.set(name, secret)
    return secret
  }
}

/** True for calls that do not build on each other: before the first probe and at the end. */
const isIndependent = (probe: string) => !probe.includes('/')

/** Calls whose success shows the queue of updates, or the webhook. */
const deliveryCall = /\/(?:getUpdates|getWebhookInfo|setWebhook|deleteWebhook|webhook)(?:\?|$)/

/** Why the response of a call is not compared: it depends on calls that no replay repeats. */
function notCompared(exchange: RecordedExchange): string | undefined {
  if ('not_replayable' in exchange) return undefined
  if (exchange.probe === 'clean-up') return 'It removes what the run made.'
  const isSuccess = exchange.response.status < 300
  if (!isSuccess || !deliveryCall.test(exchange.request.path)) return undefined
  return 'It depends on updates and deliveries, which a replay does not repeat.'
}

/** True if the next exchange is the same call again: after a refusal for a time, or as the next one of a poll. */
function isRepeated(exchange: RecordedExchange, next: RecordedExchange | undefined): boolean {
  if ('not_replayable' in exchange || next === undefined || 'not_replayable' in next) return false
  if (next.probe !== exchange.probe || JSON.stringify(next.request) !== JSON.stringify(exchange.request)) return false
  const { status } = exchange.response
  const { method, path } = exchange.request
  const isRead = method === 'GET' || path.endsWith('/vouchers/verify')
  return status === 429 || status === 503 || (isRead && next.pause_ms !== undefined)
}

function kindOf({ path, body = '' }: RecordedRequest) {
  const names = placeholdersOf(`${path}\n${body}`).map(({ name }) => name)
  return { namesOffer: names.some((name) => name !== undefined && name in offers), namesOwn: names.includes('RUN') }
}

/** Times further away than this are not relative to the run. */
const TIME_SPAN_MS = 730 * DAY_MS

/** Moves the times near a recorded probe, so that they are as far in the future or the past of its replay. */
export function shiftTimes(text: string, recordedAt: number, startedAt: number): string {
  return text.replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?=[.Z+-])/g, (time) => {
    const ms = Date.parse(`${time}Z`)
    const isNear = Math.abs(ms - recordedAt) < TIME_SPAN_MS && toSeconds(ms) === time
    return isNear ? toSeconds(ms + startedAt - recordedAt) : time
  })
}

const toSeconds = (ms: number) => new Date(ms).toISOString().slice(0, 19)
