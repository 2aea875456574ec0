import type { Failure } from '../../failure.js'
import { fail } from '../../failure.js'

/** @param data the option that names the folder, empty for the default one */
export function notRunning(dir: string, data: string): Failure {
  return fail(
    'LOCAL_SERVER_NOT_RUNNING',
    `No server runs in ${dir}.`,
    `Start one with \`voucherctl server start --detach${data}\`, or name its folder with --data.`,
  )
}
