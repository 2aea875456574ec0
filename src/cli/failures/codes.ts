import { exitOfStatus, failures, isFailureCode } from '../../contract/errors.js'
import { codeOf } from '../../files/error-code.js'
import { type Failure, fail, suggestionsOf } from './failure.js'
import { isLocalCode, localFailures } from './local-failures.js'

// Output and CommandLine import this module on demand: a successful command needs no table of failures.

/** True for a code of the failure table or the command line, in any case. */
export const isKnownCode = (typed: string): boolean => explain(typed.toUpperCase()) !== undefined

/** Exit code of a failure: by the failure table, by the local failure codes, or else by the HTTP status. */
export function exitOf({ code, status }: { readonly code: string; readonly status: number | null }): number {
  if (isFailureCode(code)) return failures[code].exit
  if (isLocalCode(code)) return localFailures[code].exit
  return status === null ? 1 : exitOfStatus(status)
}

type Environment = Readonly<Record<string, string | undefined>>

/** Meaning, causes and fix of a failure code. Members are added, never renamed: scripts read them. */
export interface Explanation {
  readonly code: string
  readonly meaning: string
  /** Null if meaning and fix say enough. */
  readonly causes: string | null
  readonly fix: string
  /** HTTP status; null for a failure that voucherctl itself detects. */
  readonly status: number | null
  readonly exit: number
  readonly retryable: boolean
}

export const explainedCodes: readonly string[] = [...new Set([...Object.keys(failures), ...Object.keys(localFailures)])]

/** Explains a code as it is typed, in any case; undefined for an unknown code. */
export function explanationOf(typed: string, env: Environment): Explanation | undefined {
  const found = explain(typed.toUpperCase())
  return found && { ...found, fix: suggestionsOf(env, new Map())(found.fix) }
}

function explain(code: string): Explanation | undefined {
  if (isFailureCode(code)) {
    const { message: meaning, cause: causes = null, cliFix: fix, status, exit, retryable } = failures[code]
    return { code, meaning, causes, fix, status, exit, retryable }
  }
  if (!isLocalCode(code)) return undefined
  const { message: meaning, cause: causes = null, fix, exit } = localFailures[code]
  return { code, meaning, causes, fix, status: null, exit, retryable: false }
}

/** Converts an error of the bundled server to a failure; rethrows an error without a known code, which is a bug. */
export function failureOfServer(error: unknown): Failure {
  const code = codeOf(error)
  if (!isLocalCode(code)) throw error
  // The messages of other codes say how to mend it.
  const hasFix = code === 'STORE_ELSEWHERE' || code === 'STORE_CLOCK_MOVED' || code === 'DATA_FOLDER_IN_USE'
  return fail(code, (error as Error).message, hasFix ? localFailures[code].fix : null)
}
