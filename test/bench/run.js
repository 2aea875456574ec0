// npm run bench [-- --quick] [--only P5] [--rounds N] [--stored N] [--profile FOLDER]
// Prints the row of each measurement and writes bench.json. README.md of this folder describes the measurements.
import { statfsSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { measureBulk } from './measurements/bulk.js'
import { measureDeliveries } from './measurements/deliveries.js'
import { measureInProcess } from './measurements/in-process.js'
import { measureInstall } from './measurements/install.js'
import { measureListener } from './measurements/listener.js'
import { measureMock } from './measurements/mock.js'
import { measurePage } from './measurements/page.js'
import { measurePostgres } from './measurements/postgres.js'
import { measureProve } from './measurements/prove.js'
import { measureSize } from './measurements/size.js'
import { measureStartup } from './measurements/startup.js'
import { measureStored } from './measurements/stored.js'
import { measureThroughput } from './measurements/throughput.js'
import { cache, root } from './processes.js'
import { printTable } from './report.js'

const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    profile: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    stored: { type: 'string' },
  },
})
const say = (line) => process.stderr.write(`${line}\n`)
const TMPFS = 0x01021994
const inMemory = statfsSync(cache).type === TMPFS
if (inMemory) say(`${cache} is in memory: what is said to be durable is not measured as such`)

const { quick, profile } = flags
const rounds = Number(flags.rounds)
const count = quick ? 3_000 : 20_000
const many = Number(flags.stored ?? (quick ? 200_000 : 5_000_000))
const options = { rounds, count, many, profile, say }
/** Ids of rows, the function that measures them together, and options that differ from `options`. */
const measurements = [
  ['P1, P2, P3, P4', measureStartup, { rounds: quick ? 5 : 21 }],
  ['P5, P6, P7, P8', measureThroughput],
  ['P9', measureDeliveries, { count: quick ? 2_000 : 10_000 }],
  ['P10', measureBulk, { rows: quick ? 10_000 : 100_000 }],
  ['P11', measureStored, { engine: 'SQLite' }],
  ['P11', measureStored, { engine: 'PostgreSQL' }],
  ['P12', measurePostgres],
  ['P18', measureMock],
  ['P19', measureProve],
  ['P13', measureSize],
  ['P13b', measureInstall],
  ['P14', measureListener],
  ['P15', measureInProcess, { rounds: quick ? 3 : 9 }],
  ['P16', measurePage],
]
const only = flags.only?.split(',')
const isWanted = (id) => only?.includes(id) ?? true

const rows = []
for (const [ids, measure, more] of measurements) {
  if (!ids.split(', ').some(isWanted)) continue
  try {
    rows.push(...(await measure({ ...options, ...more })))
  } catch (error) {
    say(`${ids}: ${error.stack}`)
    rows.push({ id: ids, failed: error.message })
  }
}
printTable(rows)
const machine = {
  node: process.version,
  platform: `${process.platform} ${process.arch}`,
  cpus: cpus().length,
  in_memory: inMemory,
}
writeFileSync(join(root, 'bench.json'), `${JSON.stringify({ quick, rounds, ...machine, rows }, null, 2)}\n`)
// Exit now: processes of a measurement that failed may still be running.
if (rows.some(({ failed }) => failed !== undefined)) process.exit(1)
