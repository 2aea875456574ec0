import { failures, isFailureCode } from '../contract/errors.js'
import type { SecureSessionOptions } from '../secure/client/options.js'
import { arePins } from '../secure/client/pins.js'
import type { SecureSession } from '../secure/client/session.js'
import type { SecureFailure } from '../secure/failure.js'
import { isCanonicalOrigin } from '../secure/origin.js'
import { CLIENT_TIMEOUT_MS } from '../secure/suite.js'
import { readFailure } from './response.js'
import type { SecureFault, Transport, TransportRequest, TransportResponse } from './transport.js'
import { isTransportError, TransportError } from './transport.js'

export type { Latch, SecureMode } from '../secure/client/options.js'

/** `mode`: off, auto or required. Origin, pins and downgrade protection (`latch`) are those of voucherctl/secure. */
export type SecureOptions = Omit<SecureSessionOptions, 'send'>

/** Routes that are not part of the specified interface: the operator API, health and metrics. */
const OUTSIDE = /^\/(?:_platform\/|healthz$|readyz$|metrics$)/
/** Dot segments, by which a server might resolve an outside path to one of the interface. */
const CLIMBING = /\.\.|%2e/i

/** True for paths that must go through the encrypted transport. */
export const isSecured = (path: string) => !OUTSIDE.test(path) || CLIMBING.test(path)

/**
 * Sends requests through the encrypted transport of the server (DECISIONS.md#encrypted-transport). It goes around the
 * http or pool transport and inside `withRetry`: each envelope is valid once, so no transport below may retry. All
 * calls share a session, which the first call negotiates.
 *
 * `required` sends no call of the interface in plain text. It refuses a request that does not fit an envelope (symbols
 * of the path, size of the body) before sending. The operator API (`/_platform`) is never encrypted; `required` permits
 * it only over a trusted channel (`trustedChannel`: verified TLS or this machine).
 *
 * Network failures keep their kind, and `maybeProcessed` tells whether the business call was sent; other failures are
 * TransportErrors of the kind `secure`.
 * @throws TypeError for an origin that is not canonical, a malformed pin, or more than two pins.
 */
export function withSecure(transport: Transport, options: SecureOptions): Transport {
  const { mode, origin = '', pins = [], latch } = options
  if (origin !== '' && !isCanonicalOrigin(origin)) throw new TypeError('The origin must look like https://host[:port]')
  if (!arePins(pins)) throw new TypeError('At most two pins, sha256: and 43 characters each')
  if (mode === 'off') {
    return async (request) => {
      const response = await transport(request)
      if (response.status === 426 && isRequired(response)) await latch?.set()
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
    opening ??= openSession(transport, options)
    const outcome = await (await opening).send(request)
    if (outcome.ok) return outcome.response
    throw secureError(outcome, request)
  }
}

/** Load the suite on demand: that takes longer than a whole plain call. */
async function openSession(transport: Transport, options: SecureOptions): Promise<SecureSession> {
  const { createSecureSession } = await import('../secure/client/session.js')
  return createSecureSession({ ...options, send: transport })
}

const isRequired = (response: TransportResponse) => readFailure(response).code === 'SECURE_TRANSPORT_REQUIRED'

/** The error for a call outside of the encrypted transport that `required` refuses; undefined if it is permitted. */
export function refusePlain({ mode, trustedChannel = false }: SecureOptions): TransportError | undefined {
  if (mode !== 'required' || trustedChannel) return undefined
  const message = 'This call cannot be encrypted, and goes over verified TLS or to this machine only.'
  const fault: SecureFault = { code: 'SECURE_PLAIN_REFUSED', phase: 'local', status: 0, headers: {}, retryable: false }
  return new TransportError('secure', message, { maybeProcessed: false, secure: fault })
}

/** Converts a failure of the secure session. @throws errors of a transport that are not TransportErrors */
export function secureError(
  failure: SecureFailure,
  { timeoutMs }: Pick<TransportRequest, 'timeoutMs'>,
): TransportError {
  const { code, phase, maybeProcessed, cause } = failure
  if (code === 'SECURE_TIMEOUT') {
    const limit = timeoutMs === undefined ? '' : ` within ${Math.round(Math.min(timeoutMs, CLIENT_TIMEOUT_MS))} ms`
    return new TransportError('timeout', `No complete answer${limit}${before(phase)}`, { maybeProcessed })
  }
  if (code === 'SECURE_ABORTED') return new TransportError('aborted', 'The call was aborted', { maybeProcessed })
  if (code === 'SECURE_NO_ANSWER') {
    // Any other error is a bug of the transport.
    if (!isTransportError(cause)) throw cause
    return new TransportError(cause.kind, `${cause.message}${before(phase)}`, { maybeProcessed })
  }
  return new TransportError('secure', messageOf(failure), { maybeProcessed, secure: faultOf(failure) })
}

const before = (phase: SecureFailure['phase']) =>
  phase === 'bootstrap' || phase === 'session' ? ' (before the call itself was sent)' : ''

function faultOf({ code, phase, part, answer }: SecureFailure): SecureFault {
  const { status = 0, headers = {} } = answer ?? {}
  const fault = { phase, status, headers, ...(part === undefined ? {} : { part }) }
  // A rate limit or a server error says nothing about the encryption, so the call is retried like any other.
  if (answer !== undefined && code === 'SECURE_ANSWER_REFUSED' && (status === 429 || status >= 500)) {
    return { ...fault, code: plainCodeOf(answer), retryable: true }
  }
  return { ...fault, code, retryable: false }
}

/** The code of an outer response. It is not authenticated: accept a code of the failure table only with its status. */
function plainCodeOf(answer: TransportResponse): string {
  const { code } = readFailure(answer)
  if (code === 'INVALID_RESPONSE') return code
  return isFailureCode(code) && failures[code].status === answer.status ? code : `HTTP_${answer.status}`
}

function messageOf({ code, message, phase, answer }: SecureFailure): string {
  if (answer === undefined || code !== 'SECURE_ANSWER_REFUSED') return message
  const redirect = answer.status >= 300 && answer.status < 400 ? ', a redirect, which is not followed' : ''
  return `${message.replace(/\.$/, '')}: it answered ${answer.status} to the ${phase} call${redirect}.`
}
