import { createSecureSession, type SecureSessionOptions } from '../../../src/secure/index.js'
import { START_MS } from '../server/app.js'
import { ApiResponse, type Send } from '../server/client.js'

/** Wraps `send`, so that requests go through an encrypted session. */
export function securely(send: Send, options: Partial<SecureSessionOptions> = {}): Send {
  const session = createSecureSession({
    mode: 'required',
    now: () => START_MS,
    send: async ({ method, path, headers, body }) => {
      const response = await send({ method, path, headers, ...(body === undefined ? {} : { body }) })
      return { status: response.status, headers: response.headers, body: response.text }
    },
    ...options,
  })
  return async ({ method, path, headers = {}, body }) => {
    const sent = await session.send({ method, path, headers, ...(body === undefined ? {} : { body: String(body) }) })
    if (!sent.ok) throw new Error(`${sent.phase}: ${sent.code}`)
    return new ApiResponse(sent.response.status, sent.response.headers, sent.response.body)
  }
}
