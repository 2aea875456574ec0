/** Request of a transport. voucherctl/client has an equal type, so that neither module imports the other. */
export interface HttpRequest {
  readonly method: string
  /** Origin-relative: path and query. */
  readonly path: string
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly signal?: AbortSignal
  /** Milliseconds for the whole exchange. */
  readonly timeoutMs?: number
  /** True when the request is idempotent. */
  readonly repeatable?: boolean
}

export interface HttpResponse {
  readonly status: number
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** True when the transport repeated the request, and the server may have processed an earlier attempt. */
  readonly maybeProcessed?: boolean
}

/**
 * Sends one request and does not follow redirects. Rejects when no complete response arrives; an error with
 * `maybeProcessed: false` guarantees that the server did not process the request.
 */
export type Send = (request: HttpRequest) => Promise<HttpResponse>
