import { failures, isFailureCode } from '../contract/errors.js'
import { arePins, type SecureSessionOptions } from '../secure/client/options.js'
import type { SecureSession } from '../secure/client/session.js'
import type { SecureFailure } from '../secure/failure.js'
import { isCanonicalOrigin } from '../secure/origin.js'
import { CLIENT_TIMEOUT_MS } from '../secure/suite.js'
import { readFailure } from './failure.js'
import {
  isTransportError,
  type SecureFault,
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
  throwIfAborted,
} from './transport.js'

export type { DowngradeProtection, SecureMode } from '../secure/client/options.js'

/** Options of the encrypted transport. `mode`: off, auto or required; for the other members see voucherctl/secure. */
export type SecureOptions = Omit<SecureSessionOptions, 'send'>

/** Routes outside of the voucher API, which are never encrypted: the operator API, health and metrics. */
const PLAIN_ROUTES = /^\/(?:_platform\/|healthz$|readyz$|metrics$)/
/** Dot segments: a server could resolve `/_platform/../api/…` to a route of the voucher API. */
const DOT_SEGMENT = /\.\.|%2e/i

/** True for paths that must go through the encrypted transport. */
export const isSecured = (path: string) => !PLAIN_ROUTES.test(path) || DOT_SEGMENT.test(path)

/**
 * Sends requests through the encrypted transport of the server (rules/encryption.md#encrypted-transport). Wrap the http
 * or pool transport with it, and wrap the result with `withRetry`: the server accepts each envelope once, so only a
 * retry that makes a new envelope can succeed. All calls share one encrypted session, which the first call negotiates.
 *
 * `required` sends no call to the voucher API in plain text. It refuses a request that does not fit an envelope
 * (symbols of the path, size of the body) before sending. The operator API (`/_platform`) is never encrypted;
 * `required` permits it only over a trusted channel (`trustedChannel`: verified TLS or this machine).
 *
 * Network failures keep their kind, and `maybeProcessed` tells whether the encrypted call was sent; other failures are
 * TransportErrors of the kind `secure`.
 * @throws TypeError for an origin that is not canonical, a malformed pin, or more than two pins.
 */
export function withSecure(transport: Transport, options: SecureOptions): Transport {
  const { mode, origin = '', pins = [], downgradeProtection } = options
  if (origin !== '' && !isCanonicalOrigin(origin)) throw new TypeError('The origin must look like https://host[:port]')
  if (!arePins(pins)) throw new TypeError('At most two pins, sha256: and 43 characters each')
  if (mode === 'off') {
    return async (request) => {
      const response = await transport(request)
      if (response.status === 426 && isRequired(response)) await downgradeProtection?.set()
      return response
    }
  }
  let opening: Promise<SecureSession> | undefined
  return async (request) => {
    if (!isSecured(request.path)) {
      const refusal = refusePlain(options)
      if (refusal !== undefined) throw refusal
      return transport(request)
    }
    throwIfAborted(request)
    opening ??= openSession(transport, options)
    const outcome = await (await opening).send(request)
    if (outcome.ok) return outcome.response
    throw secureError(outcome, request)
  }
}

/** Opens an encrypted session. Loads the cryptography on demand, because loading takes longer than a plain call. */
async function openSession(transport: Transport, options: SecureOptions): Promise<SecureSession> {
  const { createSecureSession } = await import('../secure/client/session.js')
  return createSecureSession({ ...options, send: transport })
}

const isRequired = (response: TransportResponse) => readFailure(response).code === 'SECURE_TRANSPORT_REQUIRED'

/** The error for a call that cannot be encrypted if `required` refuses it; undefined if the call is permitted. */
export function refusePlain({ mode, trustedChannel = false }: SecureOptions): TransportError | undefined {
  if (mode !== 'required' || trustedChannel) return undefined
  const message = 'This call cannot be encrypted, and goes over verified TLS or to this machine only.'
  const fault: SecureFault = { code: 'SECURE_PLAIN_REFUSED', phase: 'local', status: 0, headers: {}, retryable: false }
  return new TransportError('secure', message, { maybeProcessed: false, secure: fault })
}

/** Converts a failure of the encrypted session to a TransportError. @throws any other error of the inner transport */
export function secureError(
  failure: SecureFailure,
  { timeoutMs }: Pick<TransportRequest, 'timeoutMs'>,
): TransportError {
  const { code, phase, maybeProcessed, cause } = failure
  if (code === 'SECURE_TIMEOUT') {
    const limit = timeoutMs === undefined ? '' : ` within ${Math.round(Math.min(timeoutMs, CLIENT_TIMEOUT_MS))} ms`
    return new TransportError('timeout', `No complete response${limit}${before(phase)}`, { maybeProcessed })
  }
  if (code === 'SECURE_ABORTED') return new TransportError('aborted', 'The call was aborted', { maybeProcessed })
  if (code === 'SECURE_NO_ANSWER') {
    // An error that is not a TransportError is a bug of the inner transport.
    if (!isTransportError(cause)) throw cause
    const { kind, secure } = cause
    return new TransportError(kind, `${cause.message}${before(phase)}`, { maybeProcessed, secure })
  }
  return new TransportError('secure', messageOf(failure), { maybeProcessed, secure: faultOf(failure) })
}

const before = (phase: SecureFailure['phase']) =>
  phase === 'bootstrap' || phase === 'session' ? ' (before the call itself was sent)' : ''

function faultOf({ code, phase, part, outerResponse }: SecureFailure): SecureFault {
  const { status = 0, headers = {} } = outerResponse ?? {}
  const fault = { phase, status, headers, ...(part === undefined ? {} : { part }) }
  // A rate limit or a server error is no failure of the encryption, so `withRetry` may retry the call.
  if (outerResponse !== undefined && code === 'SECURE_ANSWER_REFUSED' && (status === 429 || status >= 500)) {
    return { ...fault, code: plainCodeOf(outerResponse), retryable: true }
  }
  return { ...fault, code, retryable: false }
}

/** Failure code of an unauthenticated response: accepts a code of the failure table only with the table's status. */
function plainCodeOf(response: TransportResponse): string {
  const { code } = readFailure(response)
  if (code === 'INVALID_RESPONSE') return code
  return isFailureCode(code) && failures[code].status === response.status ? code : `HTTP_${response.status}`
}

function messageOf({ code, message, phase, outerResponse }: SecureFailure): string {
  if (outerResponse === undefined || code !== 'SECURE_ANSWER_REFUSED') return message
  const redirect =
    outerResponse.status >= 300 && outerResponse.status < 400 ? ', a redirect, which is not followed' : ''
  return `${message.replace(/\.$/, '')}: it responded with ${outerResponse.status} to the ${phase} call${redirect}.`
}
