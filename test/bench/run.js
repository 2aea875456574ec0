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
import { measurePartitions } from './partitions.js'
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
const wanted = (...ids) => flags.only === undefined || ids.some((id) => flags.only.split(',').includes(id))
const say = (line) => process.stderr.write(`${line}\n`)

mkdirSync(cache, { recursive: true })
const TMPFS = 0x01021994
const inMemory = statfsSync(cache).type === TMPFS
if (inMemory) say(`${cache} is in memory: what is said to be durable is not measured as such`)

const rows = []
if (wanted('P1', 'P2', 'P3', 'P4')) rows.push(...(await measureStartup({ rounds: flags.quick ? 5 : 21, say })))
if (wanted('P5', 'P6', 'P7', 'P8')) {
  rows.push(
    ...(await measureThroughput({
      rounds: Number(flags.rounds),
      count: flags.quick ? 3_000 : 20_000,
      profile: flags.profile,
      say,
    })),
  )
}
if (wanted('P9')) {
  rows.push(
    ...(await measureDeliveries({
      rounds: Number(flags.rounds),
      count: flags.quick ? 2_000 : 10_000,
      profile: flags.profile,
      say,
    })),
  )
}
if (wanted('P10')) {
  rows.push(
    ...(await measureBulk({
      rounds: Number(flags.rounds),
      count: flags.quick ? 3_000 : 20_000,
      rows: flags.quick ? 10_000 : 100_000,
      say,
    })),
  )
}
if (wanted('P11')) {
  const many = Number(flags.stored ?? (flags.quick ? 200_000 : 5_000_000))
  for (const engine of ['SQLite', 'PostgreSQL']) {
    rows.push(...(await measureStored(engine, { rounds: Number(flags.rounds), many, say })))
  }
}
if (wanted('P12')) {
  rows.push(...(await measurePostgres({ rounds: Number(flags.rounds), count: flags.quick ? 3_000 : 20_000, say })))
}
if (wanted('P18')) {
  rows.push(...(await measureMock({ rounds: Number(flags.rounds), count: flags.quick ? 3_000 : 20_000, say })))
}
// The partitions measurement has no target, so it runs only with --only.
if (flags.only?.split(',').includes('partitions')) {
  rows.push(...(await measurePartitions({ rounds: Number(flags.rounds), count: flags.quick ? 1_000 : 5_000, say })))
}
if (wanted('P13')) rows.push(...(await measureSize()))
if (wanted('P13b')) rows.push(...measureInstall({ say }))
if (wanted('P14')) {
  rows.push(...(await measureListener({ rounds: Number(flags.rounds), count: flags.quick ? 3_000 : 20_000, say })))
}
if (wanted('P15')) rows.push(...(await measureInProcess({ rounds: flags.quick ? 3 : 9, say })))
if (wanted('P16')) {
  rows.push(...(await measurePage({ rounds: Number(flags.rounds), count: flags.quick ? 3_000 : 20_000, say })))
}
printTable(rows)
const machine = {
  node: process.version,
  platform: `${process.platform} ${process.arch}`,
  cpus: cpus().length,
  in_memory: inMemory,
}
writeFileSync(join(root, 'bench.json'), `${JSON.stringify({ quick: flags.quick, ...machine, rows }, null, 2)}\n`)
