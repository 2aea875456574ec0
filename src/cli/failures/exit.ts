import { exitOfStatus, failures, isFailureCode } from '../../contract/errors.js'
import { isLocalCode, localFailures } from './local-failures.js'

// Output and CommandLine import this module on demand: a command that succeeds needs no table of failures.

/** True for a code of the failure table or of the command line, in any case. */
export function isKnownCode(typed: string): boolean {
  const code = typed.toUpperCase()
  return isFailureCode(code) || isLocalCode(code)
}

/** Exit code of a failure: by the failure table, by the local failure codes, or else by the HTTP status. */
export function exitOf({ code, status }: { readonly code: string; readonly status: number | null }): number {
  if (isFailureCode(code)) return failures[code].exit
  if (isLocalCode(code)) return localFailures[code].exit
  return status === null ? 1 : exitOfStatus(status)
}
