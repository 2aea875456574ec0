import type { Send } from '../http.js'
import type { RandomBytes } from '../suite.js'
import type { SetTimer } from './deadline.js'

/**
 * `off`: everything goes in plain text. `auto`: in plain text only if the server says that the transport is switched
 * off, over a trusted channel, and the latch is not set. `required`: nothing in plain text, whatever happens.
 */
export type SecureMode = 'off' | 'auto' | 'required'

/** Remembers that a server took part once, so that it is never believed when it later says otherwise. */
export interface Latch {
  isSet(): boolean | Promise<boolean>
  set(): void | Promise<void>
}

export interface SecureSessionOptions {
  readonly send: Send
  readonly mode: SecureMode
  /** Sent as the Origin header of session and dispatch; default none. Canonical: `https://console.example`. */
  readonly origin?: string
  /** At most two, `sha256:` and 43 characters of base64url. Default: the server's key is taken as it comes. */
  readonly pins?: readonly string[]
  /** True when `send` goes over verified TLS or loopback. Default false. */
  readonly trustedChannel?: boolean
  /** Default: one that lives as long as the session object. */
  readonly latch?: Latch
  /** Milliseconds since 1970. */
  readonly now?: () => number
  readonly randomBytes?: RandomBytes
  readonly setTimer?: SetTimer
}

/** A latch that is forgotten with its process. */
export function makeLatch(): Latch {
  let isSet = false
  return {
    isSet: () => isSet,
    set() {
      isSet = true
    },
  }
}
