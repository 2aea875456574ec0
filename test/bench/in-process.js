import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { buildPackage } from '../support/build/bundle.js'
import { cache, root } from './bundle.js'
import { environment, startChild } from './child.js'
import { median } from './median.js'
import { rowOf } from './row.js'
import { runToFirstResponse } from './startup.js'

/** Largest duration of each measurement, in ms. */
const targets = {
  first: ['first start in the process of a test', 120],
  further: ['further start', 15],
  reset: ['reset of a small store', 3],
  snapshot: ['snapshot of 10,000 vouchers', 30],
  restore: ['restore of 10,000 vouchers after an issue', 30],
}

/** P15: durations of `voucherctl/testing`, each in new processes, beside the start of a server process. */
export async function measureInProcess({ rounds, say }) {
  buildPackage()
  const home = mkdtempSync(join(cache, 'home-'))
  const env = { ...environment, HOME: home, XDG_CONFIG_HOME: home, XDG_DATA_HOME: home, XDG_CACHE_HOME: home }
  const samples = { process: [], first: [], further: [], reset: [], snapshot: [], restore: [] }
  try {
    for (let round = 0; round <= rounds; round++) {
      const serving = await runToFirstResponse(env)
      const child = startChild(join(root, 'test/bench/programs/in-process-under-test.js'))
      const measured = { process: serving, ...(await child.ask('measure')) }
      await child.stop()
      if (round > 0) for (const [name, ms] of Object.entries(measured)) samples[name].push(ms)
    }
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
  const reference = median(samples.process)
  say(
    `P15: ${Object.entries(samples)
      .map(([name, all]) => `${name} ${median(all).toFixed(1)} ms`)
      .join('  ')}`,
  )
  return Object.entries(targets).map(([name, [what, ms]]) =>
    rowOf({
      id: 'P15',
      what: `${what} (<= ${ms} ms)`,
      value: median(samples[name]),
      reference,
      target: ms / reference,
      unit: 'ms',
      against: 'server process',
      runs: rounds,
    }),
  )
}
