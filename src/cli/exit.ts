import { exitOfStatus, failures, isFailureCode } from '../contract/errors.js'

// Output and CommandLine import this module on demand: a command that succeeds needs no table of failures.

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

/** Exit code of a failure: by the failure table, by the local failure codes, or else by the HTTP status. */
export function exitOf({ code, status }: { readonly code: string; readonly status: number | null }): number {
  if (isFailureCode(code)) return failures[code].exit
  if (isLocalCode(code)) return localFailures[code]
  return status === null ? 1 : exitOfStatus(status)
}
