import type { CallFailure } from '../../client/result.js'
import { readRetryAfter } from '../../client/retry.js'
import { adviceFor, type UsedCredential } from './advice.js'
import type { Failure } from './failure.js'
import { idAsCode, missingId } from './ids.js'
import { localFailures } from './local-failures.js'

/** What a command knows about its failed call. */
export interface CallFacts {
  /** A command that shows whether the change took place. */
  readonly check?: string | undefined
  readonly input?: Readonly<Record<string, unknown>>
  /** The credential, also in words: kind, first characters, source and server. */
  readonly credential?: (UsedCredential & { readonly text: string }) | undefined
}

/** Converts a failed call to a failure with a hint. */
export function fromCall(failure: CallFailure, { check, input = {}, credential }: CallFacts = {}): Failure {
  const { code, message, status, retryable, requestId, details, outcomeUnknown, idempotencyKey } = failure
  const repeat = repeatHint(outcomeUnknown, idempotencyKey, check)
  const keyed = idempotencyKey !== undefined && (outcomeUnknown || codesWithoutResponse.includes(code))
  const isDenied = (status === 401 || status === 403) && credential !== undefined
  const missing =
    status === 404 ? missingId(code, input) : code === 'VALIDATION_FAILED' ? idAsCode(input.credential) : undefined
  const about = [...(isDenied ? [`credential: ${credential.text}`] : []), ...(missing === undefined ? [] : [missing])]
  return {
    ok: false,
    code,
    // Messages of transport errors lack the full stop.
    message:
      codesWithoutResponse.includes(code) || code === 'INVALID_RESPONSE' ? message.replace(/\.?$/, '.') : message,
    status: status === 0 ? null : status,
    retryable,
    hint:
      outcomeUnknown || keyed
        ? code === 'INVALID_RESPONSE'
          ? `${localFailures.INVALID_RESPONSE.fix} ${repeat}`
          : repeat
        : withWait(adviceFor(code, { details, input, credential }), failure),
    requestId,
    details: keyed ? { ...details, idempotency_key: idempotencyKey } : details,
    ...(about.length === 0 ? {} : { about }),
  }
}

const codesWithoutResponse: readonly string[] = ['NETWORK_ERROR', 'TIMEOUT', 'ABORTED']

/** Adds the wait from Retry-After to a hint. A date counts only beside a Date header, which gives the server's time. */
function withWait(hint: string | null, { headers }: CallFailure): string | null {
  const waitMs = readRetryAfter(headers, () => Number.NaN)
  if (waitMs === null) return hint
  const wait = `The server asks to wait ${Math.ceil(waitMs / 1000)} s.`
  return hint === null ? wait : `${hint} ${wait}`
}

function repeatHint(outcomeUnknown: boolean, idempotencyKey: string | undefined, check: string | undefined): string {
  const doubt = outcomeUnknown ? 'It may have been done all the same. ' : ''
  if (idempotencyKey !== undefined)
    return `${doubt}Repeat the same command with --idempotency-key ${idempotencyKey}: it is done once at most.`
  return check === undefined
    ? `${doubt}Check before you repeat it.`
    : `${doubt}Check with ${check} before you repeat it.`
}
