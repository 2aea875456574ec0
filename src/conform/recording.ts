import { asMembers, type Members, parseJson } from '../secure/json.js'
import { placeholdersOf } from './placeholders.js'

export const RECORDING_VERSION = 1

/** Names of placeholders for the objects that the user offers. */
export const thingNames = { template: 'TEMPLATE', botId: 'BOT', chat: 'CHAT' } as const

/** First line of a recording, NDJSON with a line for each exchange. */
export interface RecordingHeader {
  readonly voucherctl_recording: typeof RECORDING_VERSION
  readonly recorded_at: string
  readonly base_url: string
  /** The run id in the names of the recorded requests. */
  readonly run: string
  /** What the file does not hold, in words. */
  readonly not_recorded: readonly string[]
}

export interface RecordedRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body?: string
  /** Set for calls that are never encrypted. */
  readonly plain?: true
}

export interface RecordedResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The parsed body, or its text if it is not JSON. */
  readonly body?: unknown
  readonly text?: string
}

interface ExchangeBase {
  /** Position in the recording, from 1. */
  readonly exchange: number
  /** The probe that made the call. */
  readonly probe: string
}

/** An exchange that cannot be replayed: as much of its request as the file may hold. */
interface SkippedExchange extends ExchangeBase {
  readonly not_replayable: string
  readonly request?: Pick<RecordedRequest, 'method' | 'path'>
}

export interface ReplayableExchange extends ExchangeBase {
  readonly request: RecordedRequest
  readonly response: RecordedResponse
  /** When the call began, after `recorded_at` of the header. */
  readonly at_ms: number
  /** What the probe waited before the call. */
  readonly pause_ms?: number
}

export type RecordedExchange = ReplayableExchange | SkippedExchange

export interface Recording {
  readonly header: RecordingHeader
  readonly exchanges: readonly RecordedExchange[]
}

/** Why a file is no recording. */
export interface RecordingFault {
  /** From 1. */
  readonly line: number
  readonly cause: string
}

export function readRecording(text: string): Recording | RecordingFault {
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  const header = asMembers(parseJson(lines[0] ?? ''))
  const cause = headerFault(header)
  if (cause !== undefined) return { line: 1, cause }
  const exchanges: RecordedExchange[] = []
  for (const [index, line] of lines.slice(1).entries()) {
    const exchange = asMembers(parseJson(line))
    const cause = exchange === undefined ? 'is not a JSON object' : exchangeFault(exchange, index + 1)
    if (cause !== undefined) return { line: index + 2, cause }
    exchanges.push(exchange as unknown as RecordedExchange)
  }
  return { header: header as unknown as RecordingHeader, exchanges }
}

function headerFault(header: Members | undefined): string | undefined {
  if (header?.voucherctl_recording === undefined) return 'is not the header of a recording'
  if (header.voucherctl_recording !== RECORDING_VERSION) {
    return `has version ${JSON.stringify(header.voucherctl_recording)}; this voucherctl reads version ${RECORDING_VERSION}`
  }
  const { recorded_at, run, base_url } = header
  if (typeof recorded_at !== 'string' || Number.isNaN(Date.parse(recorded_at))) return 'has no time recorded_at'
  if (typeof run !== 'string' || !/^\w+$/.test(run)) return 'has no run'
  return typeof base_url === 'string' ? undefined : 'has no base_url'
}

const isText = (value: unknown): value is string => typeof value === 'string'
const isDuration = (value: unknown) => typeof value === 'number' && value >= 0
const isOptionalText = (value: unknown) => value === undefined || isText(value)

function exchangeFault(it: Members, number: number): string | undefined {
  if (it.exchange !== number) return `is not exchange ${number}: a line is missing, or was moved or added`
  if (!isText(it.probe)) return 'has no probe'
  if (it.not_replayable !== undefined)
    return isText(it.not_replayable) ? undefined : 'has a not_replayable that is no text'
  const request = asMembers(it.request)
  if (request === undefined) return 'has no request'
  return (
    requestFault(request, number) ??
    responseFault(asMembers(it.response)) ??
    (isDuration(it.at_ms) && isDuration(it.pause_ms ?? 0) ? undefined : 'has an at_ms or pause_ms that is no duration')
  )
}

function requestFault({ method, path, headers, body }: Members, number: number): string | undefined {
  if (!isText(method) || !/^[A-Za-z]+$/.test(method)) return 'has a request without a method'
  // A path with two slashes could name another server.
  if (!isText(path) || !/^\/(?!\/)[!-~]*$/.test(path)) return 'has a request without a path'
  const values = Object.entries(asMembers(headers) ?? { '': undefined }).flatMap(([name, it]) => [name, [it].flat()])
  const texts = values.flat().filter(isText)
  if (texts.length < values.flat().length || texts.some((it) => !/^[\t\x20-\x7e\x80-\xff]+$/.test(it))) {
    return 'has a request with headers that are no headers'
  }
  if (!isOptionalText(body)) return 'has a request with a body that is no text'
  const later = placeholdersOf([path, ...texts, body ?? ''].join('\n')).find((it) => it.exchange >= number)
  return later === undefined ? undefined : `uses ${later.text}, which is not an earlier exchange`
}

function responseFault(response: Members | undefined): string | undefined {
  if (response === undefined) return 'has no response'
  const { status, headers, text } = response
  if (!Number.isInteger(status) || Number(status) < 100 || Number(status) > 599)
    return 'has a response without a status'
  if (!Object.values(asMembers(headers) ?? { none: undefined }).every(isText)) return 'has a response without headers'
  return isOptionalText(text) ? undefined : 'has a response with a text that is no text'
}
