import { createSecureSession, type SecureSessionOptions } from '../../src/secure/index.js'
import { START_MS } from './server-app.js'
import { Answer, type Send } from './server-client.js'

/** Wraps `send`, so that requests go through an encrypted session. */
export function securely(send: Send, options: Partial<SecureSessionOptions> = {}): Send {
  const session = createSecureSession({
    mode: 'required',
    now: () => START_MS,
    send: async ({ method, path, headers, body }) => {
      const answer = await send({ method, path, headers, ...(body === undefined ? {} : { body }) })
      return { status: answer.status, headers: answer.headers, body: answer.text }
    },
    ...options,
  })
  return async ({ method, path, headers = {}, body }) => {
    const sent = await session.send({ method, path, headers, ...(body === undefined ? {} : { body: String(body) }) })
    if (!sent.ok) throw new Error(`${sent.phase}: ${sent.code}`)
    return new Answer(sent.response.status, sent.response.headers, sent.response.body)
  }
}
