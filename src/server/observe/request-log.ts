import { Readable } from 'node:stream'
import type { Endpoint } from '../../contract/endpoint.js'
import type { FailureCode } from '../../contract/errors.js'
import type { RequestLogEntry } from '../../contract/platform.js'
import { formatInstant } from '../../domain/time.js'

const KEPT = 1000
/** Close the stream of a log follower that leaves more bytes than this unread. */
const UNREAD_BYTES_MAX = 1024 * 1024

/** Log of recent requests, with a live stream (DECISIONS.md#request-log). Entries hold no query, header or body. */
export class RequestLog {
  #entries: RequestLogEntry[] = []
  readonly #followers = new Set<Readable>()

  add(entry: RequestLogEntry): void {
    this.#entries.push(entry)
    if (this.#entries.length >= 2 * KEPT) this.#entries = this.#entries.slice(-KEPT)
    if (this.#followers.size === 0) return
    const line = `${JSON.stringify(entry)}\n`
    for (const follower of this.#followers) {
      if (!follower.push(line) && follower.readableLength > UNREAD_BYTES_MAX) follower.destroy()
    }
  }

  /** Streams the stored entries as NDJSON; if `follow`, the stream stays open for new entries. */
  stream(follow: boolean): Readable {
    const stream = new Readable({ read() {} })
    for (const entry of this.#entries.slice(-KEPT)) stream.push(`${JSON.stringify(entry)}\n`)
    if (!follow) {
      stream.push(null)
      return stream
    }
    this.#followers.add(stream)
    stream.once('close', () => this.#followers.delete(stream))
    return stream
  }

  /** Discards the stored entries; followers stay. */
  clear(): void {
    this.#entries = []
  }

  close(): void {
    for (const follower of this.#followers) follower.push(null)
    this.#followers.clear()
  }
}

/** A completed request, plain or decrypted. */
export interface CompletedRequest {
  readonly id: string
  /** Undefined for an unknown path. */
  readonly endpoint: Pick<Endpoint, 'id' | 'path'> | undefined
  readonly method: string
  readonly status: number
  readonly code: FailureCode | null
  readonly applicationId: string | null
  readonly replayed: boolean
  readonly elapsedMs: number
}

/** Converts a completed request to a log entry. @param now milliseconds since 1970 */
export function entryOf(it: CompletedRequest, now: number): RequestLogEntry {
  return {
    time: formatInstant(now),
    request_id: it.id,
    endpoint: it.endpoint?.id ?? null,
    method: it.method,
    path: it.endpoint?.path ?? null,
    status: it.status,
    code: it.code,
    application_id: it.applicationId,
    replayed: it.replayed,
    duration_ms: Math.round(it.elapsedMs * 1000) / 1000,
  }
}

/**
 * Formats a request as a log line of level info. Takes less time than pino, which matters because nearly all log lines
 * are requests, and writes `time` once. No member needs an escape: all are ids, contract names, instants and numbers.
 */
export function requestLine(entry: RequestLogEntry): string {
  const { endpoint, path, code, application_id: applicationId } = entry
  return (
    `{"level":30,"time":"${entry.time}","request_id":"${entry.request_id}","endpoint":${quoted(endpoint)},` +
    `"method":"${entry.method}","path":${quoted(path)},"status":${entry.status},"code":${quoted(code)},` +
    `"application_id":${quoted(applicationId)},"replayed":${entry.replayed},"duration_ms":${entry.duration_ms},` +
    '"msg":"request"}\n'
  )
}

function quoted(name: string | null): string {
  return name === null ? 'null' : `"${name}"`
}
