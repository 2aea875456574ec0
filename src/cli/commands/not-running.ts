import type { Failure } from '../failure.js'
import { fail } from '../failure.js'

export function notRunning(dir: string): Failure {
  return fail(
    'LOCAL_SERVER_NOT_RUNNING',
    `No server runs in ${dir}.`,
    'Start one with `voucherctl server start --detach`, or name its folder with --data.',
  )
}
