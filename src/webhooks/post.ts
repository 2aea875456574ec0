import { request as httpRequest } from 'node:http'

/** One POST of a delivery to a receiver that somebody on this machine chose: no guard, no redirect, no proxy. */
export interface Posting {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** Until the head of the answer; the platform waits 15,000 (interface.md, Limits). */
  readonly timeoutMs: number
  /** The body leaves in pieces over this time. */
  readonly paceMs?: number
}

export interface Posted {
  /** Null when there was no answer. */
  readonly status: number | null
  /** Why there was none: a code of the system, or TIMEOUT. Null when there was one. */
  readonly error: string | null
  readonly durationMs: number
}

export const POST_TIMEOUT_MS = 15_000

const PIECES = 8

export function isDelivered({ status }: Posted): boolean {
  return status !== null && status >= 200 && status < 300
}

/** A new connection for each, so that a receiver that was restarted meanwhile is found. Never rejects. */
export async function post({ url, headers, body, timeoutMs, paceMs }: Posting): Promise<Posted> {
  // TLS takes milliseconds to load, and most receivers here have none.
  const open = url.protocol === 'https:' ? (await import('node:https')).request : httpRequest
  const startedAt = performance.now()
  return new Promise((resolve) => {
    const request = open(url, {
      method: 'POST',
      agent: false,
      headers: { ...headers, 'Content-Type': 'application/json', 'Content-Length': body.length },
    })
    const end = (status: number | null, error: string | null) => {
      clearTimeout(timer)
      request.destroy()
      resolve({ status, error, durationMs: Math.round(performance.now() - startedAt) })
    }
    const timer = setTimeout(() => end(null, 'TIMEOUT'), timeoutMs)
    request.on('response', (response) => end(response.statusCode ?? null, null))
    // Also after the end: what is torn down then says so once more.
    request.on('error', (error: NodeJS.ErrnoException) => end(null, codeOf(error)))
    if (paceMs === undefined) request.end(body)
    else sendSlowly(request, body, paceMs)
  })
}

/** A host with several addresses fails with an error for each. */
function codeOf(error: NodeJS.ErrnoException): string {
  const [first] = error instanceof AggregateError ? (error.errors as NodeJS.ErrnoException[]) : []
  return error.code ?? first?.code ?? 'NETWORK_ERROR'
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
