/** Request of a transport. */
export interface HttpRequest {
  readonly method: string
  /** Path and query, without the origin. */
  readonly path: string
  /** Header values by lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** The caller aborts the call with this signal. */
  readonly signal?: AbortSignal
  /** Milliseconds for the whole call. */
  readonly timeoutMs?: number
  /** True for reads and calls with an Idempotency-Key: if the server processes them twice, the effect is the same. */
  readonly repeatable?: boolean
}

export interface HttpResponse {
  readonly status: number
  /** Header values by lower-case name; the values of a repeated header are joined with a comma. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** True if the server may have processed an earlier attempt, even if this response is a refusal. */
  readonly maybeProcessed?: boolean
}

/**
 * Sends one request and does not follow redirects. Rejects when no complete response arrives; an error with
 * `maybeProcessed: false` guarantees that the server did not process the request.
 */
export type Send = (request: HttpRequest) => Promise<HttpResponse>
