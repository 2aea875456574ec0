import { codeOf } from '../../files/error-code.js'
import type { UrlRefusalReason } from './guard.js'

/**
 * Texts for failed delivery attempts, by code. The texts are fixed, so that neither the endpoint's response nor the URL
 * gets into a delivery record.
 */
const messages = {
  lookup_failed: 'The host name has no address, or it could not be looked up.',
  lookup_timeout: 'The host name was not looked up in time.',
  address_forbidden: 'The host name leads to an address that deliveries are not made to.',
  address_not_allowed: 'The host name leads to an address outside allowed_ips.',
  connection_refused: 'The endpoint refused the connection.',
  connection_failed: 'The endpoint could not be reached.',
  connection_timeout: 'The endpoint did not accept the connection in time.',
  connection_reset: 'The endpoint closed the connection without a response.',
  certificate_self_signed: 'The certificate of the endpoint is self-signed.',
  certificate_untrusted:
    'The certificate of the endpoint is not signed by a trusted authority, or intermediate certificates are missing.',
  certificate_expired: 'The certificate of the endpoint is expired, or not valid yet.',
  certificate_other_host: 'The certificate of the endpoint is for another host.',
  tls_failed: 'The TLS handshake with the endpoint failed.',
  tls_timeout: 'The endpoint did not finish the TLS handshake in time.',
  response_timeout: 'The endpoint took the delivery and did not respond in time.',
  response_invalid: 'The response is not HTTP/1.1, or its head is too long or incomplete.',
  redirect: 'The endpoint responded with a redirect, which is not followed.',
  aborted: 'The server stopped before the endpoint responded.',
} as const

type ConstantCode = keyof typeof messages

export type DeliveryErrorCode = ConstantCode | 'url_refused' | 'http_status'

export interface DeliveryError {
  readonly code: DeliveryErrorCode
  /** Text for users; fixed except for a status or the reason why a URL is refused. */
  readonly message: string
}

export function deliveryError(code: ConstantCode): DeliveryError {
  return { code, message: messages[code] }
}

export function refusedUrl(reason: UrlRefusalReason): DeliveryError {
  return { code: 'url_refused', message: `Deliveries are not made to this URL (${reason}).` }
}

/** The error of a final status; null for a success. */
export function statusError(status: number): DeliveryError | null {
  if (status >= 200 && status < 300) return null
  if (status >= 300 && status < 400) return deliveryError('redirect')
  return { code: 'http_status', message: `The endpoint responded with ${status} instead of 2xx.` }
}

/** Codes for a delivery whose HTTP exchange did not start or did not complete. */
export type ExchangeErrorCode = Extract<
  ConstantCode,
  `${'certificate' | 'connection' | 'tls' | 'response'}_${string}` | 'address_forbidden' | 'lookup_timeout' | 'aborted'
>

/** Maps Node's error code of a failed connect. */
export function connectErrorCode(error: unknown, during: 'connection' | 'tls'): ExchangeErrorCode {
  const code = codeOf(error, '')
  if (during === 'connection') return code === 'ECONNREFUSED' ? 'connection_refused' : 'connection_failed'
  return certificateErrors.get(code) ?? 'tls_failed'
}

/** OpenSSL's verification codes (`X509_V_ERR_…`), and Node's code for a host name mismatch. */
const certificateErrors: ReadonlyMap<string, ExchangeErrorCode> = new Map([
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'certificate_self_signed'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'certificate_untrusted'],
  ['UNABLE_TO_GET_ISSUER_CERT', 'certificate_untrusted'],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'certificate_untrusted'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'certificate_untrusted'],
  ['CERT_HAS_EXPIRED', 'certificate_expired'],
  ['CERT_NOT_YET_VALID', 'certificate_expired'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'certificate_other_host'],
])

type LimitReason = Extract<DeliveryErrorCode, `${string}_timeout` | 'aborted'>

/**
 * Ends a delivery attempt at its timeout or when the server stops. An AbortSignal would do the same but measurably
 * lowers the delivery rate (P9 of test/bench/README.md).
 */
export class AttemptLimit {
  /** Current phase of the attempt; the reason of a timeout names the phase, such as `tls_timeout`. */
  waitsFor: 'lookup' | 'connection' | 'tls' | 'response' = 'lookup'
  #reached: LimitReason | null = null
  readonly #timer: NodeJS.Timeout
  readonly #listeners = new Set<() => void>()

  constructor(timeoutMs: number) {
    this.#timer = setTimeout(() => this.#reach(`${this.waitsFor}_timeout`), timeoutMs)
  }

  get reached(): LimitReason | null {
    return this.#reached
  }

  /** Ends the attempt because the server stops. */
  abort(): void {
    this.#reach('aborted')
  }

  /** Cancels the timeout after the end of the attempt. */
  release(): void {
    clearTimeout(this.#timer)
  }

  listen(listener: () => void): void {
    this.#listeners.add(listener)
  }

  unlisten(listener: () => void): void {
    this.#listeners.delete(listener)
  }

  #reach(reached: LimitReason): void {
    this.#reached ??= reached
    for (const listener of this.#listeners) listener()
  }
}
