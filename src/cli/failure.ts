import type { CallFailure } from '../client/result.js'
import { readRetryAfter } from '../client/retry-after.js'
import type { ValidationIssue } from '../contract/envelope.js'
import { exitOfStatus, failures, isFailureCode } from '../contract/errors.js'
import { codeOf } from '../files/error-code.js'
import type { Paint } from './output/colour.js'
import { encodeJson } from './output/encode.js'
import { plainLine } from './output/plain.js'

/** Why a command failed, and how to fix it. */
export interface Failure {
  readonly ok: false
  readonly code: string
  readonly message: string
  /** HTTP status of the response; null if there is none. */
  readonly status: number | null
  readonly retryable: boolean
  readonly hint: string | null
  readonly requestId: string | null
  readonly details: Readonly<Record<string, unknown>>
}

/** Exit codes of failures that voucherctl itself detects. */
export const localFailures = {
  UNEXPECTED: 1,
  SERVER_START_FAILED: 1,
  SERVER_STOP_FAILED: 1,
  EADDRINUSE: 1,
  EACCES: 1,
  DATA_FOLDER_IN_USE: 1,
  STORE_UNUSABLE: 1,
  DATABASE_UNREACHABLE: 1,
  SQLITE_MISSING: 1,
  KEYS_UNUSABLE: 1,
  OPERATOR_NOT_LOOPBACK: 1,
  FILE_UNWRITABLE: 1,
  RECEIVER_WRONG: 1,
  JQ_FAILED: 1,
  USAGE: 2,
  INVALID_INPUT: 2,
  CONFIG_INVALID: 2,
  CONFIG_HOLDS_SECRET: 2,
  CREDENTIAL_UNENCRYPTED: 2,
  REDEEM_CODE_MISTYPED: 2,
  JQ_INVALID: 2,
  UNKNOWN_FIELD: 2,
  FILE_UNREADABLE: 2,
  INBOX_FORMAT: 2,
  EXPORT_UNUSABLE: 2,
  INPUT_REQUIRED: 3,
  CONFIRMATION_REQUIRED: 3,
  BASE_URL_REQUIRED: 3,
  CREDENTIAL_REQUIRED: 3,
  PROJECT_NOT_ALLOWED: 3,
  PROFILE_NOT_FOUND: 5,
  PROJECT_FILE_NOT_FOUND: 5,
  DELIVERY_NOT_RECORDED: 5,
  INBOX_NOT_FOUND: 5,
  STORE_NOT_FOUND: 5,
  INBOX_IN_USE: 6,
  RESULTS_IN_USE: 6,
  STORE_NOT_EMPTY: 6,
  RECEIVER_REFUSED: 8,
  RECEIVER_FAILED: 9,
  LOCAL_SERVER_NOT_RUNNING: 9,
  NETWORK_ERROR: 9,
  TIMEOUT: 9,
  INVALID_RESPONSE: 9,
  SECURE_BOOTSTRAP_INVALID: 10,
  SECURE_SESSION_INVALID: 10,
  SECURE_PIN_MISMATCH: 10,
  SECURE_ANSWER_INVALID: 10,
  SECURE_ANSWER_REFUSED: 10,
  SECURE_PLAIN_REFUSED: 10,
  NOT_ALL_ARRIVED: 124,
  ABORTED: 130,
} as const satisfies Record<string, number>

type LocalCode = keyof typeof localFailures

export const isLocalCode = (code: string): code is LocalCode => Object.hasOwn(localFailures, code)

export function fail(
  code: LocalCode,
  message: string,
  hint: string | null = null,
  details: Failure['details'] = {},
): Failure {
  return { ok: false, code, message, status: null, retryable: false, hint, requestId: null, details }
}

/** Converts an error of the bundled server to a failure; rethrows an error without a known code, which is a bug. */
export function failureOfServer(error: unknown): Failure {
  const code = codeOf(error)
  if (!isLocalCode(code)) throw error
  return fail(code, (error as Error).message)
}

export const usage = (message: string, hint: string | null = null) => fail('USAGE', message, hint)

/** Converts a failed call to a failure with a hint. `check` is a command that shows whether the change took place. */
export function fromCall(failure: CallFailure, check?: string): Failure {
  const { code, message, status, retryable, requestId, details, outcomeUnknown, idempotencyKey } = failure
  // Look up own members only, because a server may send any code, even `constructor`.
  const known = Object.hasOwn(advice, code) ? advice[code] : undefined
  const next = known ?? (isFailureCode(code) ? failures[code].advice : null)
  const repeat = repeatHint(outcomeUnknown, idempotencyKey, check)
  const keyed = idempotencyKey !== undefined && (outcomeUnknown || codesWithoutResponse.includes(code))
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
          ? `${NOT_A_VOUCHER_SERVICE} ${repeat}`
          : repeat
        : withWait(next, failure),
    requestId,
    details: keyed ? { ...details, idempotency_key: idempotencyKey } : details,
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

/** Hint for a response that does not come from a voucher service. */
const NOT_A_VOUCHER_SERVICE =
  'Check the base URL (`voucherctl profile show --explain`), and what stands between: the login page of a network, a proxy.'

function repeatHint(outcomeUnknown: boolean, idempotencyKey: string | undefined, check: string | undefined): string {
  const doubt = outcomeUnknown ? 'It may have been done all the same. ' : ''
  if (idempotencyKey !== undefined)
    return `${doubt}Repeat the same command with --idempotency-key ${idempotencyKey}: it is done once at most.`
  return check === undefined
    ? `${doubt}Check before you repeat it.`
    : `${doubt}Check with ${check} before you repeat it.`
}

const WALK = '`voucherctl secure check` walks through the protocol step by step.'

/** Hints for users of the CLI by failure code; the hints of the failure table address authors of clients. */
const advice: Readonly<Partial<Record<string, string>>> = {
  NETWORK_ERROR: 'Check the base URL (`voucherctl profile show --explain`) and that the server runs.',
  TIMEOUT: 'Give it more time with --timeout 60s, or check the server.',
  INVALID_RESPONSE: NOT_A_VOUCHER_SERVICE,
  SECURE_TRANSPORT_DISABLED: 'Nothing was sent. Only with --secure off does the call go in plain text.',
  SECURE_BOOTSTRAP_INVALID: `Nothing was sent. ${WALK}`,
  SECURE_SESSION_INVALID: `Nothing was sent. ${WALK}`,
  SECURE_PIN_MISMATCH:
    'Nothing was sent. Ask the operator for the pin of the current key; `voucherctl secure pin` shows the one that is served.',
  SECURE_ANSWER_INVALID: WALK,
  SECURE_ANSWER_REFUSED: 'Check the base URL, and what stands between; `voucherctl secure check` shows each step.',
  SECURE_PLAIN_REFUSED: 'Use an https base URL for it.',
  CREDENTIAL_UNENCRYPTED:
    'Nothing was sent. Use an https base URL (--base-url, or `voucherctl profiles set` to store it), or --secure required.',
  SECURE_VERSION_UNSUPPORTED: 'Nothing was sent. Update the older of the two.',
}

/** Exit code of a failure: by the failure table, by the local failure codes, or else by the HTTP status. */
export function exitOf({ code, status }: Pick<Failure, 'code' | 'status'>): number {
  if (isFailureCode(code)) return failures[code].exit
  if (isLocalCode(code)) return localFailures[code]
  return status === null ? 1 : exitOfStatus(status)
}

/** Encodes a failure as a JSON error object on one line, for scripts. */
export function toJson(failure: Failure): string {
  const { code, message, status, retryable, hint, requestId, details } = failure
  return encodeJson({ error: { code, message, status, retryable, hint, request_id: requestId, details } })
}

/** Members of `details` that people need not see, because the message or hint already says what they contain. */
const inWords: Readonly<Partial<Record<string, string>>> = {
  INPUT_REQUIRED: 'missing',
  CREDENTIAL_REQUIRED: 'kind',
  PROJECT_NOT_ALLOWED: 'project_file',
  UNKNOWN_FIELD: 'fields',
}

/** Formats a failure for a person. Text from the server never starts a line, so it cannot imitate our messages. */
export function toText(failure: Failure, paint: Pick<Paint, 'error' | 'hint'>): string {
  const lines = [`${paint.error('error:')} ${plainLine(failure.message)}`]
  for (const [name, value] of Object.entries(failure.details)) {
    if (name === 'errors' && Array.isArray(value)) for (const issue of value) lines.push(issueLine(issue))
    else if (name !== 'idempotency_key' && name !== inWords[failure.code])
      lines.push(`  ${plainLine(name)}: ${plainLine(typeof value === 'string' ? value : JSON.stringify(value))}`)
  }
  if (failure.hint !== null) lines.push(`${paint.hint('hint:')} ${plainLine(failure.hint)}`)
  if (failure.requestId !== null) lines.push(`request: ${plainLine(failure.requestId)}`)
  return `${lines.join('\n')}\n`
}

/** Formats a validation issue. A server may send anything in its place, which is printed as JSON. */
function issueLine(issue: Partial<ValidationIssue> | null): string {
  if (typeof issue?.pointer !== 'string' || typeof issue.message !== 'string')
    return `  ${plainLine(JSON.stringify(issue))}`
  const suggestion = typeof issue.suggestion === 'string' ? ` (${issue.suggestion})` : ''
  return `  ${plainLine(`${issue.pointer}: ${issue.message}${suggestion}`)}`
}
