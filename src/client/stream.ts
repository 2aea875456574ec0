import type { Endpoint, InputOf, OutputOf } from '../contract/endpoint.js'
import { asMembers, parseJson } from '../secure/json.js'
import { parseBaseUrl } from './base-url.js'
import { failureOfInput, failureOfResponse, failureOfTransport } from './failure.js'
import { openExchange } from './http.js'
import { prepareCall } from './prepare.js'
import { RESPONSE_DEPTH_MAX } from './response.js'
import type { CallFailure, CallSuccess } from './result.js'
import type { CallOptions, CallSettings } from './settings.js'
import { isTransportError, TransportError } from './transport.js'

/**
 * Calls an endpoint that responds with NDJSON. `data` yields each document when it arrives and throws TransportError if
 * the connection breaks, or LineError for a line that is no document; leaving the loop or aborting ends the call.
 * `timeoutMs` limits the whole response; with `follow`, which has no end, the wait for its head
 * (DECISIONS.md#time-limits).
 */
export type Stream = <E extends Endpoint & { streams: true }>(
  endpoint: E,
  input: InputOf<E>,
  options?: CallOptions,
) => Promise<CallSuccess<AsyncIterable<OutputOf<E>>> | CallFailure>

/** Creates the function that calls endpoints with NDJSON responses. @throws TypeError for an invalid base URL. */
export function createStream(baseUrl: string, settings: CallSettings = {}): Stream {
  const base = parseBaseUrl(baseUrl)
  return async <E extends Endpoint>(endpoint: E, input: InputOf<E>, options: CallOptions = {}) => {
    const prepared = await prepareCall(endpoint, input as Readonly<Record<string, unknown>>, settings, options)
    if (!prepared.ok) return failureOfInput(prepared)
    const { timeoutMs, ...request } = prepared.request
    const follows = (input as { readonly follow?: string }).follow === 'true'
    const opening = new AbortController()
    const timer = follows ? setTimeout(() => opening.abort(), timeoutMs) : undefined
    const signal = request.signal === undefined ? opening.signal : AbortSignal.any([request.signal, opening.signal])
    try {
      const limit = follows || timeoutMs === undefined ? {} : { timeoutMs }
      const { status, headers, chunks, readBytes } = await openExchange(base, { ...request, ...limit, signal })
      if (status < 200 || status > 299) {
        const body = (await readBytes()).toString('utf8')
        return failureOfResponse({ status, headers, body }, prepared)
      }
      return {
        ok: true,
        data: readDocuments<OutputOf<E>>(chunks, (body) => failureOfResponse({ status, headers, body }, prepared)),
        status,
        requestId: headers['x-request-id'] ?? null,
        replayed: false,
        headers,
      }
    } catch (error) {
      if (!isTransportError(error)) throw error
      const late = opening.signal.aborted
      return failureOfTransport(
        late ? new TransportError('timeout', `No response within ${timeoutMs} ms`) : error,
        prepared,
      )
    } finally {
      clearTimeout(timer)
    }
  }
}

/** A line that is no JSON object, or an envelope: the failure of the call, such as a refusal. */
export class LineError extends TransportError {
  readonly failure: CallFailure
  constructor(failure: CallFailure) {
    super('lost', failure.message)
    this.failure = failure
  }
}

const LINE_LENGTH_MAX = 1024 * 1024

/** Reads each non-empty line of a UTF-8 body (DECISIONS.md#streams-of-lines); the last one may lack its line feed. */
async function* readDocuments<Document>(
  chunks: AsyncIterable<Uint8Array>,
  failureOf: (line: string) => CallFailure,
): AsyncGenerator<Document> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of chunks) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = parts.pop() ?? ''
    if (rest.length > LINE_LENGTH_MAX)
      throw new TransportError('lost', `A line of the stream is longer than ${LINE_LENGTH_MAX} characters`)
    for (const line of parts) if (line.trim() !== '') yield parse(line)
  }
  rest += decoder.decode()
  if (rest.trim() !== '') yield parse(rest)

  function parse(line: string): Document {
    const document = asMembers(parseJson(line, RESPONSE_DEPTH_MAX))
    if (document === undefined || typeof document.success === 'boolean') throw new LineError(failureOf(line))
    return document as Document
  }
}
