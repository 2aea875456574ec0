import { readFileSync } from 'node:fs'
import { bundleProgram } from '../support/build/bundle.js'
import { replaceOnce, root } from '../support/planting.js'

/** Smaller bounds than the server's: the few updates of a simulation then need several transactions. */
const bounds = [
  { file: 'src/store/delivery/backlog.ts', from: 'BACKLOG_ROWS_PER_WRITE = 200', to: 'BACKLOG_ROWS_PER_WRITE = 3' },
  { file: 'src/store/delivery/updates.ts', from: 'SCANNED_UPDATES_MAX = 1_000', to: 'SCANNED_UPDATES_MAX = 4' },
]

/** Replaces texts of source files while they are bundled. */
function replacing(changes) {
  return {
    name: 'replacing',
    load(id) {
      const changed = changes.filter(({ file }) => id === `${root}${file}`)
      if (changed.length === 0) return null
      return changed.reduce(replaceOnce, readFileSync(id, 'utf8'))
    },
  }
}

/** Bundles a program of this folder with the server, in which it may plant a defect. */
export function bundleSimulation(program, name, defect) {
  const changes = defect === undefined ? bounds : [...bounds, defect]
  return bundleProgram(`${root}test/simulation/${program}.ts`, name, [replacing(changes)])
}
