// npm run bench [-- --quick] [--only P5] [--rounds N] [--stored N] [--profile FOLDER]
// Prints the row of each measurement and writes bench.json. README.md of this folder describes the measurements.
import { mkdirSync, statfsSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { measureBulk } from './bulk.js'
import { cache, root } from './bundle.js'
import { measureDeliveries } from './deliveries.js'
import { measureInProcess } from './in-process.js'
import { measureInstall } from './install.js'
import { measureListener } from './listener.js'
import { measureMock } from './mock.js'
import { measurePage } from './page.js'
import { measurePostgres } from './postgres.js'
import { measureSize } from './size.js'
import { measureStartup } from './startup.js'
import { measureStored } from './stored.js'
import { printTable } from './table.js'
import { measureThroughput } from './throughput.js'

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

mkdirSync(cache, { recursive: true })
const TMPFS = 0x01021994
const inMemory = statfsSync(cache).type === TMPFS
if (inMemory) say(`${cache} is in memory: what is said to be durable is not measured as such`)

const rounds = Number(flags.rounds)
const count = flags.quick ? 3_000 : 20_000
const stored = (engine) => {
  const many = Number(flags.stored ?? (flags.quick ? 200_000 : 5_000_000))
  return () => measureStored(engine, { rounds, many, say })
}
/** Ids of rows, and the function that measures them together. */
const measurements = [
  ['P1, P2, P3, P4', () => measureStartup({ rounds: flags.quick ? 5 : 21, say })],
  ['P5, P6, P7, P8', () => measureThroughput({ rounds, count, profile: flags.profile, say })],
  ['P9', () => measureDeliveries({ rounds, count: flags.quick ? 2_000 : 10_000, profile: flags.profile, say })],
  ['P10', () => measureBulk({ rounds, count, rows: flags.quick ? 10_000 : 100_000, say })],
  ['P11', stored('SQLite')],
  ['P11', stored('PostgreSQL')],
  ['P12', () => measurePostgres({ rounds, count, say })],
  ['P18', () => measureMock({ rounds, count, say })],
  ['P13', () => measureSize()],
  ['P13b', () => measureInstall({ say })],
  ['P14', () => measureListener({ rounds, count, say })],
  ['P15', () => measureInProcess({ rounds: flags.quick ? 3 : 9, say })],
  ['P16', () => measurePage({ rounds, count, say })],
]
const only = flags.only?.split(',')
const isWanted = (id) => only?.includes(id) ?? true

const rows = []
for (const [ids, measure] of measurements) {
  if (!ids.split(', ').some(isWanted)) continue
  try {
    rows.push(...(await measure()))
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
writeFileSync(join(root, 'bench.json'), `${JSON.stringify({ quick: flags.quick, ...machine, rows }, null, 2)}\n`)
// Exit now: processes of a measurement that failed may still be running.
if (rows.some(({ failed }) => failed !== undefined)) process.exit(1)
