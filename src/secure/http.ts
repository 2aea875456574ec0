/** A request as a transport takes it: the shape of `Transport` of voucherctl/client, which fits without an import. */
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
  /** True when processing it twice has the effect of processing it once. */
  readonly repeatable?: boolean
}

export interface HttpResponse {
  readonly status: number
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** True when an earlier try of the same request may have been processed. */
  readonly maybeProcessed?: boolean
}

/**
 * Sends one request and does not follow redirects. Rejects when no complete answer arrived; an error that says
 * `maybeProcessed: false` certainly was not processed.
 */
export type Send = (request: HttpRequest) => Promise<HttpResponse>
