import type { IncomingMessage } from 'node:http'
import { type Refusal, refuse } from '../../contract/errors.js'
import { BODY_BYTES_MAX, checkInnerBody, type ParsedBody, parseBody } from './body.js'
import type { Exchange } from './exchange.js'

/** Bytes of a body. `too_large`: over the limit. `broken`: the client disconnected before the end of the body. */
type BodyBytes = Buffer | 'too_large' | 'broken'

type JsonBody = ParsedBody | Refusal<'UNSUPPORTED_MEDIA_TYPE' | 'PAYLOAD_TOO_LARGE'>

/**
 * Reads a body of at most `limit` bytes. Most bodies have arrived completely when this function is called: reads such
 * bodies synchronously, which costs less than the events of a stream.
 */
export function readBytes(message: IncomingMessage, limit: number): BodyBytes | Promise<BodyBytes> {
  if (Number(message.headers['content-length'] ?? 0) > limit) return 'too_large'
  if (message.destroyed) return 'broken'
  if (!message.complete) return collect(message, limit)
  const bytes = (message.read() as Buffer | null) ?? Buffer.alloc(0)
  return bytes.length > limit ? 'too_large' : bytes
}

function collect(message: IncomingMessage, limit: number): Promise<BodyBytes> {
  return new Promise((resolve) => {
    const pieces: Buffer[] = []
    let length = 0
    message.on('data', (piece: Buffer) => {
      length += piece.length
      if (length > limit) resolve('too_large')
      else pieces.push(piece)
    })
    message.once('end', () => resolve(Buffer.concat(pieces)))
    message.once('error', () => resolve('broken'))
  })
}

/** Reads a JSON body: checks type, size and form (DECISIONS.md#bodies). Undefined for a missing or empty body. */
export function readJson(exchange: Exchange, bytesMax = BODY_BYTES_MAX): JsonBody | Promise<JsonBody> {
  const { headers, inner, method, carrier } = exchange
  if (method === 'GET' || method === 'HEAD') return { ok: true, value: undefined }
  const isJson = isJsonType(headers['content-type'])
  if (inner !== null) {
    if (inner.body === undefined) return { ok: true, value: undefined }
    return isJson ? checkInnerBody(inner.body, inner.text, inner.textBytes) : refuse('UNSUPPORTED_MEDIA_TYPE')
  }
  // An empty body needs no JSON type (`curl -d ''` sends a form type); refuse any other body at its first byte.
  const bytes = readBytes(carrier.request, isJson ? bytesMax : 0)
  return bytes instanceof Promise ? bytes.then((it) => parse(exchange, it, isJson)) : parse(exchange, bytes, isJson)
}

function parse(exchange: Exchange, bytes: BodyBytes, isJson: boolean): JsonBody {
  if (bytes === 'broken') return refuse('INVALID_JSON')
  if (bytes === 'too_large') return refuse(isJson ? 'PAYLOAD_TOO_LARGE' : 'UNSUPPORTED_MEDIA_TYPE')
  exchange.receivedBody = bytes
  return parseBody(bytes)
}

/** True for the media type application/json with any parameters; isPlainUtf8 checks the charset. */
function isJsonType(type: string | undefined): boolean {
  if (type === 'application/json') return true
  return type?.split(';', 1)[0]?.trim().toLowerCase() === 'application/json'
}
