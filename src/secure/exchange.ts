import type { Phase, SecureFailure } from './failure.js'
import { failThrown } from './failure.js'
import type { HttpRequest, HttpResponse, Send } from './http.js'

/** Sends one request; what the transport throws becomes a value. */
export async function exchange(
  send: Send,
  request: HttpRequest,
  phase: Phase,
): Promise<{ readonly ok: true; readonly response: HttpResponse } | SecureFailure> {
  try {
    return { ok: true, response: await send(request) }
  } catch (error) {
    return failThrown(error, phase)
  }
}
