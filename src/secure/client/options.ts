import type { Send } from '../http.js'
import type { RandomBytes } from '../suite.js'
import type { SetTimer } from './deadline.js'

/**
 * `off`: sends everything in plain text. `required`: never sends plain text. `auto`: sends plain text only over a
 * trusted channel, if the server reports the transport as switched off and downgrade protection is not active.
 */
export type SecureMode = 'off' | 'auto' | 'required'

/** Records that a server has used encryption: mode `auto` then never falls back to plain text for the server. */
export interface DowngradeProtection {
  isSet(): boolean | Promise<boolean>
  set(): void | Promise<void>
}

export interface SecureSessionOptions {
  readonly send: Send
  readonly mode: SecureMode
  /** Origin header of session and dispatch, in canonical form: `https://console.example`. Default: no header. */
  readonly origin?: string
  /** At most two, `sha256:` and 43 characters of base64url. Default: the client accepts any server key. */
  readonly pins?: readonly string[]
  /** True when `send` goes over verified TLS or loopback. Default false. */
  readonly trustedChannel?: boolean
  /** Storage of the downgrade protection. Default: in memory, for the life of the session object. */
  readonly downgradeProtection?: DowngradeProtection
  /** Milliseconds since 1970. */
  readonly now?: () => number
  readonly randomBytes?: RandomBytes
  readonly setTimer?: SetTimer
}

/** Creates downgrade protection in memory, which ends with the process. */
export function makeDowngradeProtection(): DowngradeProtection {
  let isSet = false
  return {
    isSet: () => isSet,
    set() {
      isSet = true
    },
  }
}

/** `sha256:` and 43 characters of base64url; the two unused bits of the last character must be zero. */
const PIN = /^sha256:[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/
const MAX_PINS = 2

export const isPin = (text: string): boolean => PIN.test(text)

/** True for at most two well-formed pins of server keys (rules/encryption.md#key-pins). */
export function arePins(pins: readonly string[]): boolean {
  return pins.length <= MAX_PINS && pins.every(isPin)
}
