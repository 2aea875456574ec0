import pg from 'pg'
import { bundle } from './bundle.js'
import { startChild } from './child.js'
import { median } from './median.js'
import { startPostgres } from './postgres-server.js'
import { rowOf } from './row.js'

const APPLICATIONS = 1_000
/** 0: the schema as the migrations make it. */
const PARTITIONS = [0, 1, 4, 16, 64]
const FEWER_APPLICATIONS = [1, 10, 100]
const CALLS = ['issue', 'verify', 'redeem']

/**
 * What calls of 1,000 applications cost with the runtime tables in more and more hash partitions, and in 16 of them
 * with fewer applications; all in turn, on databases of one server. The first round warms up and is not counted.
 * @param {{ rounds: number, count: number, say: (line: string) => void }} options
 */
export async function measurePartitions({ rounds, count, say }) {
  const file = await bundle('partitions-under-test')
  const postgres = await startPostgres()
  const stores = new Map()
  const samples = new Map()
  const measure = async (partitions, applications, isCounted) => {
    const measured = await stores.get(partitions).ask({ applications, count })
    const name = `${partitions} ${applications}`
    if (isCounted) samples.set(name, [...(samples.get(name) ?? []), measured])
  }
  try {
    for (const partitions of PARTITIONS) {
      const store = startChild(file, [await newDatabase(postgres.url, `in_${partitions}`), String(partitions)])
      stores.set(partitions, store)
      await store.nextMessage()
      await store.ask({ prepare: APPLICATIONS })
    }
    for (let round = 0; round <= rounds; round++) {
      for (const partitions of round % 2 === 0 ? PARTITIONS : PARTITIONS.toReversed()) {
        await measure(partitions, APPLICATIONS, round > 0)
      }
      for (const applications of FEWER_APPLICATIONS) await measure(16, applications, round > 0)
      say(round === 0 ? 'warm-up' : `round ${round} of ${rounds}`)
    }
  } finally {
    await Promise.all([...stores.values()].map((it) => it.stop()))
    await postgres.stop()
  }
  const rate = (partitions, applications, call) =>
    median(samples.get(`${partitions} ${applications}`).map((it) => it[call]))
  const line = (partitions, applications) =>
    say(
      `${partitions === 0 ? 'no' : partitions} partitions, ${applications} applications: ${CALLS.map(
        (call) => `${call} ${Math.round(1e6 / rate(partitions, applications, call))} us`,
      ).join('  ')}`,
    )
  for (const partitions of PARTITIONS) line(partitions, APPLICATIONS)
  for (const applications of FEWER_APPLICATIONS) line(16, applications)
  return CALLS.map((call) =>
    rowOf({
      id: 'partitions',
      what: `${call}, ${APPLICATIONS} applications in 64 partitions`,
      value: rate(64, APPLICATIONS, call),
      reference: rate(0, APPLICATIONS, call),
      target: 0.85,
      unit: 'calls/s',
      against: 'in none',
      runs: rounds,
    }),
  )
}

async function newDatabase(url, name) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`create database ${name}`)
  await client.end()
  return url.replace(/\/postgres$/, `/${name}`)
}
