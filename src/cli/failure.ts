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
  /** Lines for people between message and hint: the credential that was refused, the id that was not found. */
  readonly about?: readonly string[]
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

export type LocalCode = keyof typeof localFailures

export const isLocalCode = (code: string): code is LocalCode => Object.hasOwn(localFailures, code)

/** True for a code of the failure table or of the command line, in any case. */
export function isKnownCode(typed: string): boolean {
  const code = typed.toUpperCase()
  return isFailureCode(code) || isLocalCode(code)
}

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

/** Finds the flag or argument that supplied a member of a call, by JSON pointer or name of a query member. */
export type NameMember = (pointer: string) => string | undefined

/** Formats a failure for a person. Text from the server never starts a line, so it cannot imitate our messages. */
export function toText(failure: Failure, paint: Pick<Paint, 'error' | 'hint' | 'quiet'>, nameOf?: NameMember): string {
  const { code, message, hint, about = [], details, requestId } = failure
  const lines = [`${paint.error('error:')} ${plainLine(message)} ${paint.quiet(`(${plainLine(code)})`)}`]
  for (const it of about) lines.push(`  ${plainLine(it)}`)
  const isSaid = (text: string) => text !== '' && (message.includes(text) || hint?.includes(text) === true)
  for (const [name, value] of Object.entries(details)) {
    if (name === 'errors' && Array.isArray(value)) for (const issue of value) lines.push(issueLine(issue, nameOf))
    else if (name !== 'idempotency_key' && name !== inWords[code]) {
      const text = typeof value === 'string' ? value : JSON.stringify(value)
      if (!isSaid(text)) lines.push(`  ${plainLine(name)}: ${plainLine(text)}`)
    }
  }
  if (hint !== null) lines.push(`${paint.hint('hint:')} ${plainLine(hint)}`)
  if (requestId !== null) lines.push(`request: ${plainLine(requestId)}`)
  return `${lines.join('\n')}\n`
}

/** Formats a validation issue. A server may send anything in its place, which is printed as JSON. */
function issueLine(issue: Partial<ValidationIssue> | null, nameOf: NameMember | undefined): string {
  if (typeof issue?.pointer !== 'string' || typeof issue.message !== 'string')
    return `  ${plainLine(JSON.stringify(issue))}`
  const suggestion = typeof issue.suggestion === 'string' ? ` (${issue.suggestion})` : ''
  return `  ${plainLine(`${nameOf?.(issue.pointer) ?? issue.pointer}: ${issue.message}${suggestion}`)}`
}
