import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { buildPackage } from '../support/build/bundle.js'
import { cache, root } from './bundle.js'
import { environment, startChild } from './child.js'
import { median } from './median.js'
import { installBeside } from './peer.js'
import { rowOf } from './row.js'

const EMULATE = '0.12.2'
const NODE = '24.21.0'
const emulateScript = join(cache, `emulate-${EMULATE}`, 'node_modules/emulate/dist/api.js')
const node = join(cache, `node-${NODE}`, 'node_modules/node/bin/node')

/** Largest ratio to emulate. */
const ratios = {
  first: ['first start with its import', 1.5],
  further: ['further start', 3],
  reset: ['reset after one call', 5],
}
/** Largest duration in ms, of what emulate does not have. */
const durations = {
  snapshot: ['snapshot of 10,000 vouchers', 30],
  restore: ['restore of 10,000 vouchers after an issue', 30],
}

/** P15: durations of `voucherctl/testing`, each in new processes, beside emulate's, which stores nothing on disk. */
export async function measureInProcess({ rounds, say }) {
  const missing =
    installBeside(`emulate-${EMULATE}`, emulateScript, [`emulate@${EMULATE}`, '--ignore-scripts']) ??
    // Its script links the program of this platform.
    installBeside(`node-${NODE}`, node, [`node@${NODE}`])
  if (missing !== null) return [{ id: 'P15', skipped: missing }]
  buildPackage()
  const home = mkdtempSync(join(cache, 'home-'))
  const env = { ...environment, HOME: home, XDG_CONFIG_HOME: home, XDG_DATA_HOME: home, XDG_CACHE_HOME: home }
  const program = (name) => join(root, 'test/bench/programs', name)
  const measurements = {
    emulate: async () => JSON.parse(execFileSync(node, [program('emulate-under-test.js'), emulateScript], { env })),
    server: async () => {
      const child = startChild(program('in-process-under-test.js'), [], { execPath: node })
      const measured = await child.ask('measure')
      await child.stop()
      return measured
    },
  }
  const samples = { emulate: {}, server: {} }
  try {
    for (let round = 0; round <= rounds; round++) {
      for (const [name, measure] of Object.entries(measurements)) {
        const measured = await measure()
        if (round > 0) for (const [what, ms] of Object.entries(measured)) (samples[name][what] ??= []).push(ms)
      }
    }
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
  for (const [name, all] of Object.entries(samples)) {
    const medians = Object.entries(all).map(([what, ms]) => `${what} ${median(ms).toFixed(2)} ms`)
    say(`P15: ${name}: ${medians.join('  ')}`)
  }
  const row = (name, what, reference, target, against) =>
    rowOf({
      id: 'P15',
      what,
      value: median(samples.server[name]),
      reference,
      target,
      unit: 'ms',
      against,
      runs: rounds,
    })
  return [
    ...Object.entries(ratios).map(([name, [what, target]]) =>
      row(name, what, median(samples.emulate[name]), target, `emulate ${EMULATE}, Node ${NODE}`),
    ),
    ...Object.entries(durations).map(([name, [what, ms]]) => row(name, what, ms, 1, 'the target')),
  ]
}
