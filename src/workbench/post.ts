import { request as httpRequest } from 'node:http'
import { codeOf } from '../files/error-code.js'
import { finalResponse } from './final-response.js'

/** One POST to a URL that the user chose: no guard against private addresses, no redirects, no proxy. */
interface PostOptions {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** Milliseconds until the response head must arrive; default POST_TIMEOUT_MS. */
  readonly timeoutMs?: number
  /** Milliseconds over which to spread the body; absent to send it in one piece. */
  readonly paceMs?: number | undefined
}

export interface PostResult {
  /** HTTP status; null without a valid response. */
  readonly status: number | null
  /** Null if the response is valid; otherwise a system error code, TIMEOUT, or the code of an invalid response. */
  readonly error: string | null
  readonly durationMs: number
}

/** Milliseconds that the platform waits for a response (rules/webhooks.md#delivery-attempts). */
export const POST_TIMEOUT_MS = 15_000

const PIECES = 8

export function isDelivered({ status }: PostResult): boolean {
  return status !== null && status >= 200 && status < 300
}

/** Posts on a new connection, because the receiver may have restarted since the last post. Never rejects. */
export async function post({
  url,
  headers,
  body,
  timeoutMs = POST_TIMEOUT_MS,
  paceMs,
}: PostOptions): Promise<PostResult> {
  // Load TLS only if needed: it takes milliseconds, and most receivers on this machine use plain http.
  const open = url.protocol === 'https:' ? (await import('node:https')).request : httpRequest
  const startedAt = performance.now()
  const request = open(url, {
    method: 'POST',
    agent: false,
    headers: { ...headers, 'Content-Type': 'application/json', 'Content-Length': body.length },
  })
  const timer = setTimeout(() => request.destroy(Object.assign(new Error(), { code: 'TIMEOUT' })), timeoutMs)
  const head = finalResponse(request)
  if (paceMs === undefined) request.end(body)
  else sendSlowly(request, body, paceMs)
  const result = (status: number | null, error: string | null): PostResult => ({
    status,
    error,
    durationMs: Math.round(performance.now() - startedAt),
  })
  try {
    return result((await head).statusCode ?? null, null)
  } catch (error) {
    return result(null, codeOf(error, 'NETWORK_ERROR'))
  } finally {
    clearTimeout(timer)
    request.destroy()
  }
}

function sendSlowly(request: ReturnType<typeof httpRequest>, body: Uint8Array, paceMs: number): void {
  const size = Math.max(1, Math.ceil(body.length / PIECES))
  let at = 0
  request.flushHeaders()
  const timer = setInterval(() => {
    request.write(body.subarray(at, at + size))
    at += size
    if (at < body.length) return
    clearInterval(timer)
    request.end()
  }, paceMs / PIECES)
  request.on('close', () => clearInterval(timer))
}
