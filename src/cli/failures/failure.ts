import type { LocalCode } from './local-failures.js'

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

export function fail(
  code: LocalCode,
  message: string,
  hint: string | null = null,
  details: Failure['details'] = {},
): Failure {
  return { ok: false, code, message, status: null, retryable: false, hint, requestId: null, details }
}

export const usage = (message: string, hint: string | null = null) => fail('USAGE', message, hint)
