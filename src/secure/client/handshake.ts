import { exchange } from '../exchange.js'
import type { SecureFailure } from '../failure.js'
import type { Send } from '../http.js'
import type { RandomBytes } from '../suite.js'
import { makeClientKeyPair } from './key.js'
import type { ClientSession } from './negotiation.js'
import { bootstrapRequest, clockOffsetOf, readBootstrap, readSession, sessionRequest } from './negotiation.js'

interface HandshakeContext {
  readonly send: Send
  /** `''` for none. */
  readonly origin: string
  readonly pins: readonly string[]
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly randomBytes: RandomBytes
}

/** A session, with the milliseconds that the server's clock is ahead; or the word that there is none to be had. */
type Handshake =
  | { readonly ok: true; readonly enabled: true; readonly session: ClientSession; readonly offset: number }
  | { readonly ok: true; readonly enabled: false }
  | SecureFailure

/** Bootstrap, then a session with a key pair of its own. The key of the server is asked for anew each time: it rotates. */
export async function negotiate(
  { send, origin, pins, now, randomBytes }: HandshakeContext,
  limits: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<Handshake> {
  const asked = now()
  const described = await exchange(send, { ...bootstrapRequest, ...limits }, 'bootstrap')
  if (!described.ok) return described
  const bootstrap = readBootstrap(described.response, pins)
  if (!bootstrap.ok || !bootstrap.enabled) return bootstrap
  const offset = clockOffsetOf(bootstrap.serverTime, asked, now())

  const keyPair = makeClientKeyPair(randomBytes)
  const opened = await exchange(send, { ...sessionRequest(bootstrap, keyPair, origin), ...limits }, 'session')
  if (!opened.ok) return opened
  const read = readSession(opened.response, bootstrap, keyPair, { origin, serverNow: now() + offset })
  return read.ok ? { ok: true, enabled: true, session: read.session, offset } : read
}
