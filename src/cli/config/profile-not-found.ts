import type { Failure } from '../failure.js'
import { fail } from '../failure.js'
import type { Config } from './config.js'

export function profileNotFound(name: string, { profiles }: Config): Failure {
  const known = Object.keys(profiles)
  return fail(
    'PROFILE_NOT_FOUND',
    `There is no profile ${name}.`,
    known.length === 0 ? 'Make one with `voucherctl login`.' : `There are ${known.join(', ')}.`,
  )
}
