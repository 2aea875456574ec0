import { execFile } from 'node:child_process'
import process from 'node:process'
import { promisify } from 'node:util'
import { buildPackage } from '../../support/build/bundle.js'
import { issueCode, prepareApplication } from '../calls.js'
import { homeIn, program, runToEnd, startServer, voucherctl, withProcesses } from '../processes.js'
import { rowOf } from '../report.js'
import { alternate, median } from '../rounds.js'

const script = program('four-calls.js')
/** Disturbances after which the program runs once, and waits for nothing. */
const PLAIN = /\/(?:refuse_connection|error|status_429|drop_response|cut_body|revoked|refused_404)$/

/** P19: time of a variant of `voucherctl prove`, compared with the program alone. */
export function measureProve({ rounds, say }) {
  buildPackage()
  return withProcesses(async ({ folder, start }) => {
    const server = await startServer(start, folder)
    const application = await prepareApplication(server)
    const code = await issueCode(server, application, 'order-1')
    const home = homeIn(folder)
    const variables = {
      VOUCHERCTL_BASE_URL: server.baseUrl,
      VOUCHERCTL_TOKEN: application.token,
      VOUCHERCTL_CODE: code,
    }
    const middle = await alternate({ rounds, say }, () => [
      async () => ({ alone: { ms: runToEnd([script], { ...home, ...variables }) } }),
      async () => ({ prove: { ms: await variantMs(home) } }),
    ])
    const times = { value: middle('prove', 'ms'), reference: middle('alone', 'ms'), target: 1.3, unit: 'ms' }
    return [rowOf({ id: 'P19', what: 'a variant of prove, four calls', ...times, against: 'the program alone' })]
  })
}

async function variantMs(env) {
  const args = ['prove', '--json', '--again', '0', '--budget', '10s', '--', process.execPath, script]
  const stdout = await promisify(execFile)(process.execPath, [voucherctl, ...args], { env }).then(
    (it) => it.stdout,
    // Exit code 1: the program says done whatever happens, which prove finds.
    (error) => error.stdout,
  )
  const { results } = JSON.parse(stdout)
  return median(results.filter((it) => PLAIN.test(it.variant)).map((it) => it.duration_ms))
}
