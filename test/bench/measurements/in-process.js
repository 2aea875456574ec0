import { join } from 'node:path'
import { buildPackage } from '../../support/build/bundle.js'
import { cache, homeIn, installBeside, program, root, runToEnd, withProcesses } from '../processes.js'
import { rowOf } from '../report.js'
import { alternate } from '../rounds.js'

const EMULATE = '0.12.2'
const NODE = '24.21.0'
const emulateScript = join(cache, `emulate-${EMULATE}`, 'node_modules/emulate/dist/api.js')
const node = join(cache, `node-${NODE}`, 'node_modules/node/bin/node')

/**
 * P15: durations of `voucherctl/testing`, each in new processes, beside emulate's, which stores nothing on disk, and
 * beside the start of Node, which copies of 10,000 vouchers may take one and a half times.
 */
export function measureInProcess({ rounds, say }) {
  const missing =
    installBeside(`emulate-${EMULATE}`, emulateScript, [`emulate@${EMULATE}`, '--ignore-scripts']) ??
    // Its script links the program of this platform.
    installBeside(`node-${NODE}`, node, [`node@${NODE}`])
  if (missing !== null) return [{ id: 'P15', skipped: missing }]
  buildPackage()
  return withProcesses(async ({ folder, start }) => {
    const measured = async (name, script) => {
      const args = [name, script]
      const child = start(program('in-process-under-test.js'), args, { execPath: node, env: homeIn(folder) })
      const sample = await child.ask('measure')
      await child.stop()
      return { [name]: sample }
    }
    const middle = await alternate({ rounds, say }, () => [
      async () => ({ bare: { start: runToEnd(['-e', '0'], homeIn(folder), node) } }),
      () => measured('emulate', emulateScript),
      () => measured('server', join(root, 'dist/testing/index.js')),
    ])
    const peer = `emulate ${EMULATE}, Node ${NODE}`
    const row = (what, name, target, reference = middle('emulate', name), against = peer) =>
      rowOf({ id: 'P15', what, value: middle('server', name), reference, target, unit: 'ms', against })
    const bare = middle('bare', 'start')
    return [
      row('first start with its import', 'first', 1.2),
      row('further start', 'further', 1.5),
      row('reset after one call', 'reset', 5),
      row('snapshot of 10,000 vouchers', 'snapshot', 1.5, bare, 'node -e 0'),
      row('restore of 10,000 vouchers after an issue', 'restore', 1.5, bare, 'node -e 0'),
    ]
  })
}
