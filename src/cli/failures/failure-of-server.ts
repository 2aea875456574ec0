import { codeOf } from '../../files/error-code.js'
import { type Failure, fail } from './failure.js'
import { isLocalCode } from './local-failures.js'

/** Converts an error of the bundled server to a failure; rethrows an error without a known code, which is a bug. */
export function failureOfServer(error: unknown): Failure {
  const code = codeOf(error)
  if (!isLocalCode(code)) throw error
  return fail(code, (error as Error).message)
}
