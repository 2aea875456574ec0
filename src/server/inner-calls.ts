import type { IncomingMessage } from 'node:http'

/**
 * Which requests came out of an envelope, and the origin of its session: a value that travels beside the request,
 * since a header could be forged from outside.
 */
export class InnerCalls {
  readonly #origins = new WeakMap<IncomingMessage, string>()

  mark(request: IncomingMessage, origin: string): void {
    this.#origins.set(request, origin)
  }

  /** Empty for a session without an origin, null for a plain request. */
  originOf(request: IncomingMessage): string | null {
    return this.#origins.get(request) ?? null
  }
}
