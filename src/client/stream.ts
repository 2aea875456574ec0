import type { Endpoint, InputOf, OutputOf } from '../contract/endpoint.js'
import { asMembers } from '../values/json.js'
import { parseBaseUrl } from './base-url.js'
import { prepareCall } from './call.js'
import { failureOfInput, failureOfResponse, failureOfTransport } from './failure.js'
import { openExchange } from './http.js'
import type { Environment } from './proxy.js'
import { parseBody } from './response.js'
import type { CallFailure, CallFailureCode, CallResult, CallSuccess } from './result.js'
import type { CallOptions, CallSettings } from './settings.js'
import { isTransportError, maxResponseBytes, TransportError } from './transport.js'

/**
 * Calls an endpoint that responds with NDJSON. `data` yields each document when it arrives and throws TransportError if
 * the connection breaks, or a line is not a document (`cause` is then the failure). Leaving the loop or aborting ends
 * the call. `timeoutMs` and 64 MiB limit the whole response, or with `follow` only the wait for its head
 * (rules/cli.md#time-limits).
 */
export type Stream = <E extends Endpoint & { streams: true }>(
  endpoint: E,
  input: InputOf<E>,
  options?: CallOptions,
) => Promise<CallResult<AsyncIterable<OutputOf<E>>, CallFailureCode<E>>>

/** Creates the function that calls endpoints with NDJSON responses. @throws TypeError for an invalid base URL. */
export function createStream(baseUrl: string, settings: CallSettings = {}, env?: Environment): Stream {
  const base = parseBaseUrl(baseUrl)
  const stream = async (endpoint: Endpoint, input: object, options: CallOptions = {}) => {
    const prepared = await prepareCall(endpoint, input as Readonly<Record<string, unknown>>, settings, options)
    if (!prepared.ok) return failureOfInput(prepared)
    const endless = (input as { readonly follow?: string }).follow === 'true'
    try {
      const exchange = await openExchange(base, { ...prepared.request, endless }, env)
      return await readStream<unknown>(exchange, prepared, endless ? Number.POSITIVE_INFINITY : maxResponseBytes)
    } catch (error) {
      if (!isTransportError(error)) throw error
      return failureOfTransport(error, prepared)
    }
  }
  return stream as Stream
}

type OpenExchange = Awaited<ReturnType<typeof openExchange>>

async function readStream<Document>(
  { status, headers, readChunks, readBytes, hide = (text) => text }: OpenExchange,
  call: Parameters<typeof failureOfResponse>[1],
  bytesMax: number,
): Promise<CallSuccess<AsyncIterable<Document>> | CallFailure> {
  const failureOf = (body: string) => failureOfResponse({ status, headers, body: hide(body) }, call)
  if (status < 200 || status > 299) return failureOf((await readBytes()).toString('utf8'))
  const data = readDocuments<Document>(readChunks(), failureOf, bytesMax)
  return { ok: true, data, status, requestId: headers['x-request-id'] ?? null, replayed: false, headers }
}

const LINE_LENGTH_MAX = 1024 * 1024

/** Parses each non-empty line of a UTF-8 body as a JSON object; the last line may lack its line feed. */
async function* readDocuments<Document>(
  chunks: AsyncIterable<Uint8Array>,
  failureOf: (line: string) => CallFailure,
  bytesMax: number,
): AsyncGenerator<Document> {
  const decoder = new TextDecoder()
  let [rest, left] = ['', bytesMax]
  for await (const chunk of chunks) {
    left -= chunk.byteLength
    if (left < 0) throw new TransportError('lost', `The response is larger than ${bytesMax} bytes`)
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = parts.pop() ?? ''
    if (rest.length > LINE_LENGTH_MAX) {
      const message = `A line of the stream is longer than ${LINE_LENGTH_MAX} characters.`
      throw invalidLine({ ...failureOf(rest), message })
    }
    for (const line of parts) if (line.trim() !== '') yield parseLine(line, failureOf) as Document
  }
  rest += decoder.decode()
  if (rest.trim() !== '') yield parseLine(rest, failureOf) as Document
}

function parseLine(line: string, failureOf: (line: string) => CallFailure): unknown {
  const document = asMembers(parseBody(line))
  if (document !== undefined && typeof document.success !== 'boolean') return document
  throw invalidLine(failureOf(line))
}

const invalidLine = (failure: CallFailure) => new TransportError('lost', failure.message, { cause: failure })
